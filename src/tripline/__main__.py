"""`python -m tripline`: the same as the command `tripline`."""

from tripline.cli import main

main()
