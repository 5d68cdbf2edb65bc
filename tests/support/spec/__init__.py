"""The interface specification, row by row: its document, the world its rows are checked in, a check for each row."""
