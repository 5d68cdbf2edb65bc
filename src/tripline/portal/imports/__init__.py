"""Pages of bulk import: files and their drafts."""
