package rest

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxRefusal bounds what is read of an error response.
const maxRefusal = 64 << 10

// statusError reads a response that is neither success nor redirect.
func (c *Client) statusError(k *call, a *answer) error {
	text, _ := io.ReadAll(io.LimitReader(a.body, maxRefusal))
	_ = a.Close()
	e := &StatusError{Status: a.StatusCode, kind: ErrRefused}
	e.read(text, a.Header.Get("Content-Type"))
	if e.Message == "" { // Jetty sends no page in response to a PUT: its message is in the status line
		_, line, _ := strings.Cut(a.Status, " ")
		if line != http.StatusText(a.StatusCode) {
			e.Message = short(line, 300)
		}
	}
	switch s := a.StatusCode; {
	case s == http.StatusUnauthorized:
		e.kind = ErrUnauthenticated
		e.Hint = c.howToAuthenticate(a.Header)
	case s == http.StatusForbidden && strings.Contains(e.Message, "GSSException"):
		e.kind = ErrUnauthenticated
		e.Hint = "the ticket was not accepted: " + whyTicket(e.Message)
	case s == http.StatusForbidden && e.threw("InvalidToken"):
		e.kind = ErrUnauthenticated
		e.Hint = "the delegation token is not known there: it has ended or was cancelled, or this is a standby"
	case s == http.StatusForbidden && e.threw("StandbyException"):
		e.kind = ErrUnavailable
	case s == http.StatusForbidden:
		e.kind = ErrForbidden
		e.Hint = "ask as somebody who may: --user NAME, or another Kerberos principal"
	case s == http.StatusNotFound && (e.Exception == "" || noSuchPage(e.Message)): // the page does not exist there
		e.kind, e.Message = ErrNotFound, ""
		e.Hint = k.server.rightAddress()
	case s == http.StatusNotFound:
		e.kind = ErrNotFound
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusServiceUnavailable, s == http.StatusGatewayTimeout:
		e.kind = ErrUnavailable
		e.Hint = "it is busy, or about to start or stop: try again later"
	case s >= http.StatusInternalServerError:
		e.Hint = "it failed inside: its log says why"
	}
	if k.write() {
		switch a.StatusCode {
		case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout: // it may have been carried out, in part or completely
			return &OutcomeUnknownError{k.method, plain(a.url), e}
		case http.StatusServiceUnavailable: // how a scheduler says that it does not support this
			e.kind, e.Hint = ErrRefused, "the scheduler does not do that: its log may say why"
		}
	}
	return e
}

// noSuchPage reports whether Hadoop's message means that it does not serve the path: it is another daemon than expected.
func noSuchPage(message string) bool {
	return strings.HasPrefix(message, "HTTP 404") || strings.HasPrefix(message, "null for uri")
}

// standby reports whether the response comes from one that is not active and does not redirect.
func (e *StatusError) standby() bool {
	return e.threw("StandbyException") || e.threw("InvalidToken")
}

func (e *StatusError) threw(class string) bool {
	return e.Exception == class || slices.Contains(e.causes, class)
}

func (c *Client) howToAuthenticate(h http.Header) string {
	if strings.Contains(strings.ToLower(strings.Join(h.Values("WWW-Authenticate"), " ")), "negotiate") {
		switch c.o.Auth.(type) {
		case nil, userAuth:
			return "it wants Kerberos: run kinit and give --kerberos, or give a keytab with --keytab and --principal"
		case tokenAuth:
			return "it did not accept the delegation token, which may have ended"
		}
		return "it did not accept the ticket: is the service's principal HTTP/<host of the address>?"
	}
	if c.o.Auth == nil {
		return "it wants to know who asks: give a user name with --user, or for Kerberos a keytab with --keytab"
	}
	return "it did not accept who asks: does it want Kerberos (--keytab), or is a gateway with passwords in between?"
}

func whyTicket(message string) string {
	switch {
	case strings.Contains(message, "Clock skew"):
		return "the clocks of this machine and the server differ by more than five minutes"
	case strings.Contains(message, "Checksum failed"):
		return "the server's key is not the one that the KDC knows; was its keytab renewed?"
	case strings.Contains(message, "replay"):
		return "the server has seen it already"
	}
	return "see its log"
}

// read finds the server's message: Hadoop's RemoteException, a JSON message, a page or plain text, which may be labelled as JSON.
func (e *StatusError) read(text []byte, kind string) {
	var x struct {
		Remote struct {
			Exception, Message string
		} `json:"RemoteException"`
		Message   string `json:"message"`
		Exception string `json:"exception"`
	}
	if json.Unmarshal(text, &x) == nil {
		switch {
		case x.Remote.Exception != "" || x.Remote.Message != "":
			e.setMessage(x.Remote.Exception, x.Remote.Message)
			return
		case x.Message != "":
			e.setMessage(x.Exception, x.Message)
			return
		}
	}
	if title, page := pageTitle(text, kind); page {
		e.Message = title
		return
	}
	e.setMessage("", string(text))
}

// classes is a Java class with its package in front of a message.
var classes = regexp.MustCompile(`^(?:[a-z]\w*\.)+(?:\w+\$)*([A-Z]\w*): +`)

// setMessage strips Java classes from a message, where they mean nothing to most people.
func (e *StatusError) setMessage(exception, message string) {
	if first, _, cut := strings.Cut(message, "\n\tat "); cut { // a stack trace follows
		message = first
	}
	message = strings.TrimSpace(message)
	for m := classes.FindStringSubmatch(message); m != nil; m = classes.FindStringSubmatch(message) {
		e.causes = append(e.causes, m[1])
		message = message[len(m[0]):]
	}
	if exception == "" && len(e.causes) > 0 {
		exception = e.causes[0]
	}
	e.Exception, e.Message = exception, short(message, 300)
}

var titles = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// pageTitle recognises HTML and returns its title.
func pageTitle(text []byte, kind string) (title string, page bool) {
	media, _, _ := mime.ParseMediaType(kind)
	head := strings.ToLower(strings.TrimSpace(string(text[:min(len(text), 512)])))
	page = media == "text/html" && strings.HasPrefix(head, "<") || strings.HasPrefix(head, "<!doctype html") || strings.HasPrefix(head, "<html")
	if !page {
		return "", false
	}
	if m := titles.FindSubmatch(text); m != nil {
		title = short(html.UnescapeString(string(m[1])), 100)
	}
	return title, true
}

// htmlError is the error for a page where data were expected.
func htmlError(title string) error {
	if title != "" {
		title = fmt.Sprintf(" titled %q", title)
	}
	return &FormatError{Reason: fmt.Sprintf("a web page%s came instead of data", title), Hint: "is there a login page or a gateway in between, or is this another service's address?"}
}

// redirect interprets a 3xx; only for a NameNode does it return an address to follow. A standby says 307: the alternatives are in the
// options and in its configuration. The proxy sends callers of ended applications elsewhere with 302.
func (c *Client) redirect(k *call, from *url.URL, a *answer) (*url.URL, error) {
	text, _ := io.ReadAll(io.LimitReader(a.body, maxRefusal))
	_ = a.Close()
	temporary := a.StatusCode == http.StatusTemporaryRedirect
	loc := a.Header.Get("Location")
	if loc == "" {
		if temporary && !k.relayed {
			return nil, fmt.Errorf("%w: it is standby and knows of no active one", ErrNoActive)
		}
		_, page := pageTitle(text, a.Header.Get("Content-Type"))
		if page {
			return nil, malformed("%d with a web page and no address to go to: is this the web address of %s?", a.StatusCode, k.server.name)
		}
		return nil, malformed("%d without an address to go to", a.StatusCode)
	}
	next, err := from.Parse(loc)
	if err != nil || next.Hostname() == "" || next.Scheme != "http" && next.Scheme != "https" {
		return nil, malformed("it redirects to %q, which is no web address", short(loc, 100))
	}
	manager := k.server.name == c.rm.name
	switch {
	case k.relayed && strings.Contains(next.Path, "/jobhistory/"):
		return nil, fmt.Errorf("%w: its AM is gone, ask the history server (%s)", ErrEnded, short(plain(next), 200))
	case k.relayed && strings.Contains(next.Path, "/cluster/app/"):
		return nil, fmt.Errorf("%w, or its AM is not there yet (%s)", ErrEnded, short(plain(next), 200))
	case k.relayed:
		return nil, malformed("%d to %s: an AM's redirects are not followed", a.StatusCode, short(origin(next), 100))
	case k.server == c.files && temporary && from.Scheme == "https" && next.Scheme == "http":
		return nil, errUnsafeRedirect
	case k.server == c.files && temporary:
		return next, nil
	case manager && temporary && origin(next) == origin(from):
		return nil, fmt.Errorf("%w: it is about to become active", ErrNoActive)
	case manager && temporary:
		return nil, &standbyError{active: origin(next)}
	}
	return nil, malformed("%d to %s is not followed: is there a login page or a gateway in between? If that is the right address of %s, give it instead of this one",
		a.StatusCode, short(plain(next), 200), k.server.name)
}
