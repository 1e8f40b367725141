package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Targets for errors.Is.
var (
	ErrUnauthenticated = errors.New("not authenticated")          // 401, and a rejected ticket or token
	ErrForbidden       = errors.New("not permitted")              // authenticated but not authorised
	ErrNotFound        = errors.New("not found")                  // 404
	ErrRefused         = errors.New("refused")                    // 400 and other refusals
	ErrNoActive        = errors.New("no active ResourceManager")  // at present
	ErrUnavailable     = errors.New("unavailable")                // no listener, 5xx, timeout
	ErrFormat          = errors.New("unexpected answer")          // see FormatError
	ErrEnded           = errors.New("the application has ended")  // asked of an AM that is gone
	errNotConfigured   = errors.New("no address is given for it") // in the options
	errNodesAway       = errors.New("the nodes have not come back yet")
	errTooManyHops     = errors.New("a DataNode redirects again: is there a login page or a gateway in between?")
	errUnsafeRedirect  = errors.New("it redirects from https to http")
)

// CallError is the one-line error of a failed request: what was requested from which server, and why it failed.
type CallError struct {
	What string // "list applications"
	URL  string // without its query
	Err  error
}

func (e *CallError) Error() string {
	if e.URL == "" {
		return fmt.Sprintf("%s: %v", e.What, e.Err)
	}
	return fmt.Sprintf("%s: %s: %v", e.What, e.URL, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// StatusError is a response other than success.
type StatusError struct {
	Status    int
	Exception string // the Java class without its package, when the server says it
	Message   string // the server's own words, in one line
	Hint      string // what to do about it
	kind      error
	causes    []string // exceptions within the exception
}

func (e *StatusError) Error() string {
	s := fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Hint != "" {
		s = strings.TrimSuffix(s, ".") + ": " + e.Hint
	}
	return s
}

// Is answers for the Err... values.
func (e *StatusError) Is(target error) bool { return target == e.kind }

// OutcomeUnknownError is a write that may or may not have taken effect. The caller reads back what it wanted to change, and only
// then decides whether to send it again.
type OutcomeUnknownError struct {
	Method, URL string
	Err         error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("%s %s: outcome unknown: sent, but not confirmed (%v): read back before sending it again", e.Method, e.URL, e.Err)
}

func (e *OutcomeUnknownError) Unwrap() error { return e.Err }

// silenceError is a missing connection, a missing response or a truncated one.
type silenceError struct {
	text string
	err  error
	stay bool // a retry would not help
}

func (e *silenceError) Error() string { return e.text }
func (e *silenceError) Unwrap() error { return e.err }
func (e *silenceError) Is(target error) bool {
	return target == ErrUnavailable && !e.stay
}

// AuthError is how an Auth says that it could not produce credentials, so that nothing was sent.
type AuthError struct {
	Reason string // one line
	Later  bool   // worth a retry
	Err    error
}

func (e *AuthError) Error() string { return e.Reason }
func (e *AuthError) Unwrap() error { return e.Err }

// Is answers for ErrUnauthenticated, and for ErrUnavailable when it may work later.
func (e *AuthError) Is(target error) bool {
	return target == ErrUnauthenticated || e.Later && target == ErrUnavailable
}

// standbyError is a standby that names another as the active one.
type standbyError struct {
	active string
	asked  bool // that one, too
}

func (e *standbyError) Error() string {
	why := "neither --rm nor its configuration lists it: if it is right, add it to --rm"
	if e.asked {
		why = "that one does not say so"
	}
	return fmt.Sprintf("%v: it is standby for %s, and %s", ErrNoActive, short(e.active, 100), why)
}

func (e *standbyError) Is(target error) bool { return target == ErrNoActive }

// again reports whether a failed read may succeed a little later.
func again(err error) bool {
	if _, ok := errors.AsType[*OutcomeUnknownError](err); ok {
		return false
	}
	if cut, ok := errors.AsType[*FormatError](err); ok {
		return cut.cut
	}
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrNoActive)
}
