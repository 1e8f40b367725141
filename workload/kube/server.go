package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/patience"
	"github.com/yardmaster/yardmaster/unit"
)

// maxAnswer is how much an answer may hold.
const maxAnswer = 1 << 30

// Server is an API server, or a Prometheus.
type Server struct {
	base, token string
	client      http.Client
	wait        time.Duration // for how long it may send nothing
}

// NewServer returns the server at a URL. tokenFile has the bearer token, caFile the authorities that sign its certificate; "": none, the system's.
func NewServer(base, tokenFile, caFile string) (*Server, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return nil, fmt.Errorf("%q is no web address without a password, as https://10.0.0.1:6443", base)
	}
	s := &Server{base: strings.TrimSuffix(base, "/"), wait: 2 * time.Minute}
	if tokenFile != "" {
		text, err := os.ReadFile(tokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		if s.token = strings.TrimSpace(string(text)); u.Scheme != "https" {
			return nil, errors.New("a token is sent over https only")
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities to trust: %w", err)
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", caFile)
		}
	}
	t := patience.Transport(10 * time.Second)
	t.TLSClientConfig, t.ResponseHeaderTimeout = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, s.wait
	s.client = http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a token is for one server
	}
	return s, nil
}

// get reads an answer.
func (s *Server) get(ctx context.Context, path string, query url.Values, read func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	a, err := patience.Do(&s.client, r, s.wait)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	body := http.MaxBytesReader(nil, a.Body, maxAnswer)
	switch {
	case a.StatusCode == http.StatusUnauthorized || a.StatusCode == http.StatusForbidden:
		err = errors.New("the server refuses access; with kubectl proxy, http://127.0.0.1:8001 has your own rights")
	case a.StatusCode == http.StatusGone:
		err = errors.New("the list took longer than the server keeps it: try again")
	case a.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(body, 300))
		err = fmt.Errorf("the server answers %s: %s", a.Status, shown(string(text)))
	default:
		err = read(body)
	}
	switch tooLarge := (*http.MaxBytesError)(nil); { // whatever else its reader says of it
	case errors.As(err, &tooLarge):
		err = fmt.Errorf("an answer of more than %v", unit.Bytes(maxAnswer))
	case errors.Is(err, patience.ErrStopped):
		err = fmt.Errorf("%w for more than %v: try again", patience.ErrStopped, s.wait)
	}
	if err != nil {
		return fmt.Errorf("%s%s: %w", s.base, path, err)
	}
	return nil
}

// Fetch reads the Jobs, pods and nodes of an API server, 500 at a time.
func (h *History) Fetch(ctx context.Context, s *Server, progress func(objects int)) error {
	for _, path := range []string{"/apis/batch/v1/jobs", "/api/v1/pods", "/api/v1/nodes"} {
		query := url.Values{"limit": {"500"}}
		for next, pages := "", 0; ; query.Set("continue", next) {
			if pages++; pages > maxObjects/500 {
				return fmt.Errorf("%s%s does not end", s.base, path)
			}
			err := s.get(ctx, path, query, func(r io.Reader) (err error) {
				next, err = h.Read(r)
				return err
			})
			if err != nil {
				return err
			}
			if progress(h.objects()); next == "" {
				break
			}
		}
	}
	return nil
}
