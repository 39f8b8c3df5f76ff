S-- only
