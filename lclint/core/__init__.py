"""Types that every package of lclint shares."""
