"""Texts for people: a sentence for each refusal, mails, pages, in each language; for every part that answers people."""
