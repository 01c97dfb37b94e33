"""gRPC without generated code: a server with TLS, and a client that goes through the proxy that https_proxy names.

  grpc_echo.py server CERTIFICATE KEY     prints its port, serves until its input ends
  grpc_echo.py client HOST:PORT ROOTS     a unary call, a stream of five, a call that ends in an error; prints what came back
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import pathlib
import sys

import grpc

WAIT = 20  # seconds


class Echo(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method == "/echo.Echo/Once":
            return grpc.unary_unary_rpc_method_handler(lambda request, context: request[::-1])
        if call.method == "/echo.Echo/Many":
            return grpc.unary_stream_rpc_method_handler(lambda request, context: (request + b"%d" % i for i in range(5)))
        return None


def serve(certificate, key):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4), handlers=(Echo(),))
    credentials = grpc.ssl_server_credentials([(pathlib.Path(key).read_bytes(), pathlib.Path(certificate).read_bytes())])
    print(server.add_secure_port("127.0.0.1:0", credentials), flush=True)
    server.start()
    sys.stdin.read()
    server.stop(None)


def ask(authority, roots):
    with grpc.secure_channel(authority, grpc.ssl_channel_credentials(pathlib.Path(roots).read_bytes())) as channel:
        try:
            print("once", channel.unary_unary("/echo.Echo/Once")(b"abc", timeout=WAIT).decode(), sep="\t")
            print("many", b" ".join(channel.unary_stream("/echo.Echo/Many")(b"x", timeout=WAIT)).decode(), sep="\t")
            channel.unary_unary("/echo.Echo/Nothing")(b"", timeout=WAIT)
        except grpc.RpcError as error:
            print(error.code().name, error.details(), sep="\t")


if sys.argv[1] == "server":
    serve(*sys.argv[2:])
else:
    ask(*sys.argv[2:])
