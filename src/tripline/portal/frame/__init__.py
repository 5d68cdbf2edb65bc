"""The frame of every page: navigation, forms, notices, refusals, templates, texts and figures."""
