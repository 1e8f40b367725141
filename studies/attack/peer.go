package attack

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
)

// paths are the addresses of the live page.
var paths = []string{"/", "/now", "/events", "/status.json", "/healthz", "/metrics"}

// peerAttacks are those of whoever reaches the port of the live page, or has a web page open in the operator's browser.
func peerAttacks() []Attack {
	return []Attack{
		{Name: "page: other methods and paths", Actor: Peer, run: methods,
			Tries: "POST, PUT, PATCH, DELETE, OPTIONS and TRACE, and paths that lead out of the page.",
			Holds: "Every one is refused: the page only reads."},
		{Name: "page: DNS rebinding", Actor: Peer, run: rebinding,
			Tries: "A web page whose name resolves to 127.0.0.1 reads the live page in the operator's browser.",
			Holds: "A request for any name but localhost is refused, without data."},
		{Name: "page: frames and other origins", Actor: Peer, run: origins,
			Tries: "Shows the page in a frame, or reads it from a script of another origin.",
			Holds: "Headers forbid frames, scripts and styles that are not the page's, sniffing, caching, and give no other origin access."},
		{Name: "page: huge requests", Actor: Peer, run: hugeHeaders,
			Tries: "A megabyte of headers, a path of a megabyte, a body without an end.",
			Holds: "Each is refused, and the page answers the next one."},
		{Name: "page: slow clients", Actor: Peer, Long: true, run: slowClients,
			Tries: "Holds 200 connections open with half a request each, and 100 that read no events.",
			Holds: "The steerer samples on, and the page answers again within 15 s."},
	}
}

// send sends raw bytes and returns the status line and headers of the answer, and its body.
func send(url, text string) (head, body string, err error) {
	c, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), maxTime)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = c.Close() }() // read
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, text) // it may be refused before it is complete
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = res.Body.Close() }() // read
	var h strings.Builder
	fmt.Fprintln(&h, res.Status)
	_ = res.Header.Write(&h)                              // a Builder never fails
	b, _ := io.ReadAll(io.LimitReader(res.Body, 100_000)) // an answer of events has no end
	return h.String(), string(b), nil
}

func methods(t *trial) {
	url, end := t.page("aging")
	defer end()
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
		for _, path := range paths {
			head, _, err := send(url, method+" "+path+" HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			if t.must(err) && !strings.HasPrefix(head, "405") {
				t.harm("%s %s: %s", method, path, head)
			}
		}
	}
	for _, path := range []string{"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/debug/pprof/", "/page.html", "/now/../.."} {
		head, body, err := send(url, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if t.must(err) && (strings.HasPrefix(head, "200") || strings.Contains(body, "root:")) {
			t.harm("GET %s: %s", path, head)
		}
	}
}

func rebinding(t *trial) {
	url, end := t.page("aging")
	defer end()
	for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "[::ffff:10.0.0.1]", "0.0.0.0", "", "localhost@evil.example"} {
		for _, path := range paths {
			head, body, err := send(url, "GET "+path+" HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
			if t.must(err) && (strings.HasPrefix(head, "200") || strings.Contains(body, "root.batch")) {
				t.harm("Host %q: %s of %s", host, head, path)
			}
		}
	}
	if head, _, err := send(url, "GET / HTTP/1.1\r\nHost: localhost:9099\r\nConnection: close\r\n\r\n"); err != nil || !strings.HasPrefix(head, "200") {
		t.harm("localhost itself is refused: %s %v", head, err)
	}
}

func origins(t *trial) {
	url, end := t.page("aging")
	defer end()
	for _, path := range []string{"/", "/now", "/status.json", "/healthz", "/metrics"} {
		head, _, err := send(url, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n")
		if !t.must(err) {
			return
		}
		for _, want := range []string{"frame-ancestors 'none'", "X-Frame-Options: DENY", "X-Content-Type-Options: nosniff", "default-src 'none'",
			"Cross-Origin-Resource-Policy: same-origin", "Cache-Control: no-store", "Referrer-Policy: no-referrer"} {
			if !strings.Contains(head, want) {
				t.harm("%s has no %q", path, want)
			}
		}
		if strings.Contains(head, "Access-Control-") || strings.Contains(head, "unsafe-inline") {
			t.harm("%s: %s", path, head)
		}
	}
}

func hugeHeaders(t *trial) {
	url, end := t.page("aging")
	defer end()
	big := strings.Repeat("x", 1<<20)
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + big + "\r\n\r\n", "GET /" + big + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775807\r\n\r\n" + big, big,
	} {
		if head, _, err := send(url, text); err == nil && strings.HasPrefix(head, "200") {
			t.harm("%.40q: %s", text, head)
		}
	}
	if head, _, err := send(url, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil || !strings.HasPrefix(head, "200") {
		t.harm("the page does not answer any more: %s %v", head, err)
	}
}

func slowClients(t *trial) {
	url, end := t.page("aging", "--set", "interval=1s")
	defer end()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // it may be closed
		}
	}()
	for i := range 300 {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			continue // refused
		}
		text := "GET / HTTP/1.1\r\nHost: loc"
		if i >= 200 {
			text = "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
		}
		_, _ = io.WriteString(c, text) // it may be closed already
		open = append(open, c)
	}
	if !proc.Await(t.ctx, 15*time.Second, 500*time.Millisecond, func() bool {
		head, _, err := send(url, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		return err == nil && strings.HasPrefix(head, "200")
	}) {
		t.harm("the page does not answer any more")
	}
}
