"""Certificates of customers' servers that are refused, and the reasons to keep with a message."""

import ssl
from typing import Final

from tripline.ports.webhooks import WebhookFailedError

_EXPIRED: Final = 10
"""OpenSSL's `X509_V_ERR_CERT_HAS_EXPIRED`."""
_UNTRUSTED: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's `X509_V_ERR_` codes for a certificate whose chain ends in no trusted authority."""


def refused(error: ssl.SSLCertVerificationError) -> WebhookFailedError:
    """The failure with its reason."""
    if error.verify_code == _EXPIRED:
        return WebhookFailedError("The server's certificate has expired.")
    if error.verify_code in _UNTRUSTED:
        return WebhookFailedError("The server's certificate was issued by an untrusted authority.")
    return WebhookFailedError("The server's certificate is not valid for its name.")
