"""Texts for people: a sentence for each refusal, mails, pages, in each language; usable by every part of the rim."""
