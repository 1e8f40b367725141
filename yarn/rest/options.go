package rest

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
)

// Options say where a cluster is and how to connect to it. The zero value of each field is its default.
type Options struct {
	RM        []string // web addresses of the ResourceManagers, http://host:8088; the one that responded last is tried first
	History   string   // of the JobHistoryServer, http://host:19888
	NameNodes []string // for WebHDFS, http://host:9870

	Auth Auth // nil: anonymous, and a server may hide times and owners
	TLS  TLS

	Timeout   time.Duration // idle timeout, before a response or within it; default 60 s
	Retries   int           // max retries of a read; default 5, negative: none
	Backoff   time.Duration // first backoff, doubled each time up to a factor of 32; default 250 ms
	RMRate    float64       // requests a second to all ResourceManagers; default 2, negative: no limit
	Parallel  int           // concurrent requests to the history server, and as many to the file system; default 4
	MaxAnswer int64         // max bytes of a response read whole; default 64 MiB
	MaxList   int64         // max bytes of a streamed list; default 16 GiB
	UserAgent string        // default "yardmaster"
}

// TLS says whom to trust. By default it is the system's list of authorities.
type TLS struct {
	CAFile string // a PEM file of authorities to trust besides those of the system
}

// Auth makes a transport that adds credentials. Only requests to servers that the client trusts (see the package comment) pass through
// it, and never a followed redirect.
type Auth interface {
	Wrap(next http.RoundTripper) http.RoundTripper
}

func (o *Options) defaults() {
	o.Timeout = unit.Positive(o.Timeout, 60*time.Second)
	o.Backoff = unit.Positive(o.Backoff, 250*time.Millisecond)
	switch {
	case o.Retries == 0:
		o.Retries = 5
	case o.Retries < 0:
		o.Retries = 0
	}
	o.RMRate = cmp.Or(o.RMRate, 2)
	o.Parallel = unit.Positive(o.Parallel, 4)
	o.MaxAnswer = unit.Positive(o.MaxAnswer, 64<<20)
	o.MaxList = unit.Positive(o.MaxList, 16<<30)
	o.UserAgent = cmp.Or(o.UserAgent, "yardmaster")
}

// address parses a web address as people write it: the scheme may be missing, a path of a gateway may follow.
func address(s string) (*url.URL, error) {
	text := strings.TrimSpace(s)
	if text == "" {
		return nil, errors.New("an empty address; it looks like http://host:8088")
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", s, errors.Unwrap(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("address %q: %s:// is not a web address; it looks like http://host:8088", s, u.Scheme)
	case u.Hostname() == "":
		return nil, fmt.Errorf("address %q has no host; it looks like http://host:8088", s)
	case u.User != nil:
		return nil, fmt.Errorf("address %q: a name or password in it would show in logs; authenticate with a user name, a keytab or a token", u.Redacted())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawQuery, u.Fragment = "", ""
	return u, nil
}

func addresses(list []string) ([]*url.URL, error) {
	var us []*url.URL
	for _, s := range list {
		u, err := address(s)
		if err != nil {
			return nil, err
		}
		us = append(us, u)
	}
	return us, nil
}

// transport is net/http's with our trust settings and without HTTP/2, whose own retries would obscure what was sent.
func transport(o *Options) (*http.Transport, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS.CAFile != "" {
		pem, err := os.ReadFile(o.TLS.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities to trust: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", o.TLS.CAFile)
		}
		cfg.RootCAs = pool
	}
	dialer := &net.Dialer{Timeout: min(10*time.Second, o.Timeout)}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        cfg,
		TLSHandshakeTimeout:    min(10*time.Second, o.Timeout),
		ResponseHeaderTimeout:  o.Timeout,
		MaxIdleConnsPerHost:    o.Parallel,
		IdleConnTimeout:        20 * time.Second, // below Jetty's 30 s, so that a write meets no connection that is being closed
		MaxResponseHeaderBytes: 1 << 20,
	}, nil
}
