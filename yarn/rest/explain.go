package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// explain turns an error of net/http into one clear line.
func explain(err error, u *url.URL, sent bool, timeout time.Duration) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it repeats method and address
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		return err
	}
	if c := trustError(err, u); c != nil {
		return c
	}
	var record tls.RecordHeaderError
	if text := err.Error(); strings.Contains(text, "server gave HTTP response to HTTPS client") || errors.As(err, &record) {
		return &silenceError{"it speaks http, not https: write http://" + u.Host, err, true}
	} else if strings.Contains(text, "malformed HTTP response") {
		return &silenceError{"it does not speak http: is it an https address, or a port of another service?", err, true}
	}
	var lookup *net.DNSError
	var auth *AuthError
	switch {
	case errors.As(err, &auth):
		return auth
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return &silenceError{fmt.Sprintf("the name %s is not known: is it written right?", lookup.Name), err, true}
	case !sent && errors.Is(err, syscall.ECONNREFUSED):
		return &silenceError{"connection refused: nothing listens there; is it running, and is this its web address?", err, false}
	case !sent && isTimeout(err):
		return &silenceError{"no connection within the time allowed: is the host up, and is a firewall in between?", err, false}
	case isTimeout(err):
		return &silenceError{fmt.Sprintf("no answer within %s: is it overloaded, or is this a port of another service?", timeout), err, false}
	case !sent:
		return &silenceError{"no connection: " + short(err.Error(), 160), err, false}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &silenceError{"the connection was closed before an answer came", err, false}
	}
	return &silenceError{"no answer: " + short(err.Error(), 160), err, false}
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// trustError explains a rejected certificate.
func trustError(err error, u *url.URL) error {
	var verify *tls.CertificateVerificationError
	if !errors.As(err, &verify) {
		return nil
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	text := "its certificate is not accepted: " + short(verify.Err.Error(), 160)
	switch {
	case errors.As(err, &unknown):
		who := "an authority that this machine does not trust"
		if c := unknown.Cert; c != nil {
			if c.Issuer.String() == c.Subject.String() {
				who = "itself"
			} else {
				who = fmt.Sprintf("%q, which this machine does not trust", c.Issuer.String())
			}
		}
		text = "its certificate is signed by " + who + ": give the authority's PEM file with --ca"
	case errors.As(err, &host):
		names := host.Certificate.DNSNames
		for _, ip := range host.Certificate.IPAddresses {
			names = append(names, ip.String())
		}
		text = fmt.Sprintf("its certificate is for %s, not for %s: use that name", short(strings.Join(names, ", "), 100), u.Hostname())
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		c := invalid.Cert
		text = fmt.Sprintf("its certificate is valid from %s to %s, not now: is this machine's clock right?",
			c.NotBefore.UTC().Format(time.DateOnly), c.NotAfter.UTC().Format(time.DateOnly))
	}
	return &silenceError{text, err, true}
}
