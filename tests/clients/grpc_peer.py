#!/usr/bin/env python3
"""A gRPC server and its client, for http2_test.py; without generated code, as messages here are octets.

Usage: grpc_peer.py serve CERTIFICATE KEY   prints its port, and ends with its standard input
       grpc_peer.py ask HOST:PORT ROOTS     through the proxy that $grpc_proxy names
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import pathlib
import sys
import threading

import grpc

WAIT = 20  # seconds
LARGE = bytes(range(256)) * 8192


def fail(_, context):
    context.set_trailing_metadata([("x-why", "test")])
    context.abort(grpc.StatusCode.NOT_FOUND, "said so")


def hang(_, context):
    ended = threading.Event()
    context.add_callback(ended.set)
    ended.wait(WAIT)
    return b""


METHODS = {
    "Echo": grpc.unary_unary_rpc_method_handler(lambda request, _: request),
    "Count": grpc.unary_stream_rpc_method_handler(lambda request, _: (str(i).encode() for i in range(int(request)))),
    "Join": grpc.stream_unary_rpc_method_handler(lambda requests, _: b"".join(requests)),
    "Both": grpc.stream_stream_rpc_method_handler(lambda requests, _: (request + b"!" for request in requests)),
    "Fail": grpc.unary_unary_rpc_method_handler(fail),
    "Hang": grpc.unary_unary_rpc_method_handler(hang),
}


def serve(certificate, key):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("t.T", METHODS)])
    pair = (pathlib.Path(key).read_bytes(), pathlib.Path(certificate).read_bytes())
    print(server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair])), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(0).wait()


def error_of(call, *request, timeout=WAIT):
    try:
        call(*request, timeout=timeout)
    except grpc.RpcError as error:
        return error
    raise AssertionError("it was answered")


def converse(channel):
    """Each message waits for the answer to the one before, so both directions are open at once."""
    answered = threading.Semaphore(1)

    def requests():
        for word in (b"a", b"b", b"c"):
            assert answered.acquire(timeout=WAIT)
            yield word

    answers = []
    for answer in channel.stream_stream("/t.T/Both")(requests(), timeout=WAIT):
        answers.append(answer)
        answered.release()
    return answers


def ask(target, roots):
    credentials = grpc.ssl_channel_credentials(pathlib.Path(roots).read_bytes())
    with grpc.secure_channel(target, credentials) as channel:
        assert channel.unary_unary("/t.T/Echo")(LARGE, timeout=WAIT) == LARGE
        assert list(channel.unary_stream("/t.T/Count")(b"50", timeout=WAIT)) == [str(i).encode() for i in range(50)]
        assert channel.stream_unary("/t.T/Join")(iter([b"a", b"b", b"c"]), timeout=WAIT) == b"abc"
        assert converse(channel) == [b"a!", b"b!", b"c!"]
        failed = error_of(channel.unary_unary("/t.T/Fail"), b"")
        assert (failed.code(), failed.details()) == (grpc.StatusCode.NOT_FOUND, "said so"), failed
        assert ("x-why", "test") in [tuple(item) for item in failed.trailing_metadata()], failed
        assert error_of(channel.unary_unary("/t.T/Missing"), b"").code() == grpc.StatusCode.UNIMPLEMENTED
        assert error_of(channel.unary_unary("/t.T/Hang"), b"", timeout=0.5).code() == grpc.StatusCode.DEADLINE_EXCEEDED
        calls = [channel.unary_unary("/t.T/Echo").future(str(i).encode(), timeout=WAIT) for i in range(200)]
        assert [call.result() for call in calls] == [str(i).encode() for i in range(200)]
    print("all calls were answered")


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
