"""The model server's own process: `python3 llama_child.py SETTINGS`.

Run as a file, not as a module of the package: it must see nothing but the
unpacked server wheel and the standard library. SETTINGS is a JSON object:

    package     folder that holds the server's Python package
    model       the model file
    template    the chat template file
    alias       the name the server answers to
    context     context window in tokens
    report_fd   descriptor to write the base address to, once the model is loaded
"""

import json
import os
import sys
import threading


def leave_with_parent() -> None:
    """Ends this process when our stdin closes, however the parent ended.

    Even SIGKILL to the parent closes the pipe, so no server is ever left behind.
    """
    sys.stdin.buffer.read()
    os._exit(0)


def main() -> None:
    """Loads the model, reports the address, serves until ended."""
    threading.Thread(target=leave_with_parent, daemon=True).start()
    settings = json.loads(sys.argv[1])
    sys.path.insert(0, settings["package"])
    import xllamacpp  # type: ignore[import-not-found]  # it lies in the folder just named

    params = xllamacpp.CommonParams()
    params.model.path = settings["model"]
    params.model_alias = {settings["alias"]}
    with open(settings["template"], encoding="utf-8") as file:
        params.chat_template = file.read()
    params.use_jinja = True
    params.n_ctx = settings["context"]
    # One conversation at a time: a second slot would halve the context and the speed.
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    # The kernel picks a free port while binding, so there is no gap for another process.
    params.port = 0
    # Nothing but the model's own endpoints, and not for pages in a browser.
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    # The default would let saved prompts grow to 8 GiB.
    params.cache_ram_mib = 512

    server = xllamacpp.Server(params)
    with os.fdopen(settings["report_fd"], "w", encoding="utf-8") as report:
        report.write(server.listening_address)
    threading.Event().wait()


if __name__ == "__main__":
    main()
