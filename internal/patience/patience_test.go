package patience

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// An answer that stops is an error; one that is whole is not.
func TestDo(t *testing.T) {
	hold := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "some")
		_ = http.NewResponseController(w).Flush()
		if r.URL.Path == "/stops" {
			<-hold
		}
	}))
	defer srv.Close()
	defer close(hold)
	read := func(path string, wait time.Duration) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Do(&http.Client{Transport: Transport(time.Minute)}, r, wait)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		return string(text), err
	}
	if text, err := read("/ends", time.Minute); err != nil || text != "some" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := read("/stops", 50*time.Millisecond); !errors.Is(err, ErrStopped) || err.Error() != "the answer stopped for more than 50ms" {
		t.Error(err)
	}
}
