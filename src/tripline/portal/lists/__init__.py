"""Pages of lists, one module a noun, with their exports and the quick search.

A new list needs the store's rows and filters (`store/listing/`), a module here with a `Table`, its texts
(`language/portal/lists.*.toml`: title, search, count, none, none.why, and columns without a `portal.lists.column.`),
and its module in `nouns.py`. Page, count, search, filters, sort, columns, pages and files come from the `Table`.
"""
