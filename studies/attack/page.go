package attack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/studies/lab/proc"
	"github.com/yardmaster/yardmaster/studies/lab/steerer"
)

// page runs a steerer that only observes, with its live page, until the trial ends.
func page(t *trial, args []string) {
	words := []string{"yarn", "steer", "--rm", t.lab.RM(), "--user", operator, "--queue", "root.batch", "--listen", "127.0.0.1:0", "--policy"}
	p, err := steerer.Start(t.bin, t.lab.Dir, nil, append(words, args...)...)
	if !t.must(err) {
		return
	}
	proc.Await(t.ctx, maxTime, 20*time.Millisecond, func() bool {
		for _, l := range p.Lines() {
			if _, rest, ok := strings.Cut(l.Text, "page:"); ok {
				t.url, _, _ = strings.Cut(strings.TrimSpace(rest), "/,")
			}
		}
		return t.url != "" || !p.Alive()
	})
	if t.url == "" {
		p.End()
		t.must(fmt.Errorf("no page: %s", p.Last()))
		return
	}
	t.undo = append(t.undo, func() {
		if !p.Alive() {
			t.harm("the steerer ended: %s", p.Last())
			return
		}
		p.Stop(maxTime)
	})
}

// get reads a page, of any status.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read
	return io.ReadAll(io.LimitReader(res.Body, 64<<20))
}

// unscripted reports harm if the page shows the script in an application's name.
func unscripted(t *trial, _ []string) {
	proc.Await(t.ctx, maxTime, 100*time.Millisecond, func() bool {
		b, _ := get(t.ctx, t.url+"/status.json")
		return strings.Contains(string(b), "usable goal")
	})
	for _, path := range []string{"/", "/now", "/status.json", "/metrics"} {
		b, err := get(t.ctx, t.url+path)
		if t.must(err) && strings.Contains(string(b), "<script>alert") && path != "/metrics" {
			t.harm("%s contains the script: %.200s", path, b)
		}
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

// requestText is the text of a request for a host and a path, with a further header.
func requestText(method, path, host, header string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + header + "\r\nConnection: close\r\n\r\n"
}

// requests sends requests of every method, path and host (- is none) and wants a status. A "refused" one has any but 200, and no data.
func requests(t *trial, args []string) {
	want := args[0]
	for method := range strings.FieldsSeq(args[1]) {
		for path := range strings.FieldsSeq(args[2]) {
			for host := range strings.FieldsSeq(args[3]) {
				head, body, err := send(t.url, requestText(method, path, strings.TrimPrefix(host, "-"), "Content-Length: 0"))
				held := strings.HasPrefix(head, want)
				switch want {
				case "refused":
					held = !strings.HasPrefix(head, "200") && !strings.Contains(body, "root:") && !strings.Contains(body, "root.batch")
				case "200":
					held = held && err == nil
					err = nil
				}
				if t.must(err) && !held {
					t.harm("%s %s of %q, want %s: %s", method, path, host, want, head)
				}
			}
		}
	}
}

// headers reports harm where an answer to a script of another origin lacks a header.
func headers(t *trial, _ []string) {
	for _, path := range []string{"/", "/now", "/status.json", "/healthz", "/metrics"} {
		head, _, err := send(t.url, requestText("GET", path, "localhost", "Origin: http://evil.example"))
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

// slowClients hold connections open: 200 with half a request each, and 100 that read no events.
func slowClients(t *trial, _ []string) {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // it may be closed
		}
	}()
	for i := range 300 {
		c, err := net.Dial("tcp", strings.TrimPrefix(t.url, "http://"))
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
		head, _, err := send(t.url, requestText("GET", "/healthz", "localhost", "Content-Length: 0"))
		return err == nil && strings.HasPrefix(head, "200")
	}) {
		t.harm("the page does not answer any more")
	}
}
