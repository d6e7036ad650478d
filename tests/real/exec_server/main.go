// The way of an exec through a real API server to a real kubelet, in one process: kube-apiserver's own handlers, which
// speak WebSockets with the client, and the streaming server that kubelet and containerd share. What the container runs
// is in run. It prints its port and serves until its standard input ends.
//
// Source: kubernetes v1.37.1 pkg/registry/core/pod/rest/subresources.go, ExecREST.Connect and newThrottledUpgradeAwareProxyHandler.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	"k8s.io/apimachinery/pkg/util/proxy"
	translator "k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/utils/exec"
)

type runtime struct{}

func (runtime) ExecInContainer(_ context.Context, _, _, _ string, words []string, in io.Reader, out, err io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	return run(words, in, out, err)
}

// cat; head N; say OUT ERR; big N; exit N; fail TEXT
func run(words []string, in io.Reader, out, err io.Writer) error {
	number := 0
	if len(words) > 1 {
		number, _ = strconv.Atoi(words[1])
	}
	switch words[0] {
	case "cat":
		_, problem := io.Copy(out, in)
		return problem
	case "head":
		_, problem := io.CopyN(out, in, int64(number))
		return problem
	case "say":
		io.WriteString(out, words[1])
		io.WriteString(err, words[2])
		return nil
	case "big":
		io.WriteString(out, strings.Repeat("x", number))
		return nil
	case "exit":
		return exec.CodeExitError{Err: fmt.Errorf("exit status %d", number), Code: number}
	}
	return errors.New(words[1])
}

func kubelet(w http.ResponseWriter, request *http.Request) {
	options, problem := remotecommand.NewOptions(request)
	if problem != nil {
		http.Error(w, problem.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, request, runtime{}, "pod", "uid", "container", request.URL.Query()["command"], options,
		time.Minute, 30*time.Second, remotecommand.SupportedStreamingProtocols)
}

type refusing struct{}

func (refusing) Error(w http.ResponseWriter, _ *http.Request, problem error) {
	http.Error(w, problem.Error(), http.StatusInternalServerError)
}

func server(where *url.URL) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		query := request.URL.Query()
		wanted := url.Values{"command": query["command"]}
		for theirs, ours := range map[string]string{"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"} {
			if query.Get(theirs) == "true" {
				wanted.Set(ours, "1")
			}
		}
		location := *where
		location.RawQuery = wanted.Encode()
		options := translator.Options{Stdin: wanted.Has("input"), Stdout: wanted.Has("output"), Stderr: wanted.Has("error"), Tty: wanted.Has("tty")}
		through := proxy.NewUpgradeAwareHandler(&location, http.DefaultTransport, false, true, refusing{})
		translated := translator.NewStreamTranslatorHandler(&location, http.DefaultTransport, 0, options)
		var handler http.Handler = through
		if os.Getenv("TRANSLATE") != "false" {
			handler = translator.NewTranslatingHandler(through, translated, wsstream.IsWebSocketRequestWithStreamCloseProtocol)
		}
		handler.ServeHTTP(w, request)
	}
}

func main() {
	node := httptest.NewServer(http.HandlerFunc(kubelet))
	where, _ := url.Parse(node.URL)
	listener, problem := net.Listen("tcp", "127.0.0.1:0")
	if problem != nil {
		panic(problem)
	}
	go http.Serve(listener, server(where))
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
