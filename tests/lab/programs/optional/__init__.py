"""Programs that only some nodes have, a module each, of its role's name.

`PROGRAMS` are main and service by the names of the builds, `release` is what the publisher hands out of a version, and
its file's name; `WANTED`, where there is one, are variables without which the role refuses.
"""
