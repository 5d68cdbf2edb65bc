"""Clients of tests share the usual authorities, and only those."""

import ssl

import httpx


def trusted(client: httpx.Client) -> ssl.SSLContext:
    context = client._transport._pool._ssl_context  # type: ignore[attr-defined]
    assert isinstance(context, ssl.SSLContext)
    return context


def test_clients_that_trust_the_usual_authorities_share_them():
    with httpx.Client() as first, httpx.Client(base_url="http://127.0.0.1") as second:
        assert trusted(first) is trusted(second)
        assert trusted(first).verify_mode is ssl.CERT_REQUIRED
        assert len(trusted(first).get_ca_certs()) > 50


def test_client_that_trusts_others_trusts_them_alone():
    others = ssl.create_default_context(cadata=None)

    with httpx.Client(verify=others) as client, httpx.Client(verify=False) as trusting:
        assert trusted(client) is others
        assert trusted(trusting).verify_mode is ssl.CERT_NONE
