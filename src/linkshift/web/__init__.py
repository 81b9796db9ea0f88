"""The labelling page: answer, see and correct in a browser, with nothing lost.

`linkshift label` opens it, and `Session.serve`. What people say goes to a `store`, a log of
events in one SQLite file; what is shown is its replay, a `record`. Nothing is imported before it is
used: whoever looks after a store alone waits for no server, nor for what clusters.
"""
