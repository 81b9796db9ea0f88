// A browser lets no page read another that was opened as a file, and the search would fetch each page
// that it finds for a few of its lines. The index is a script and needs no reading: titles are enough.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
