"""The findings of `tripline doctor`."""
