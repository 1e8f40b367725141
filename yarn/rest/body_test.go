package rest

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// drip sends a blank at a time, for ever.
type drip struct{ each time.Duration }

func (d drip) Read(b []byte) (int, error) {
	time.Sleep(d.each)
	b[0] = ' '
	return 1, nil
}

func (drip) Close() error { return nil }

// A list that drips is never silent, and is not waited for without end; the time that its reader takes does not count.
func TestListThatDrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := &idleBody{body: drip{time.Second / 2}, cancel: cancel, timeout: time.Second}
		begin, thought := time.Now(), time.Duration(0)
		var err error
		for b := make([]byte, 8); err == nil; _, err = p.Read(b) {
			time.Sleep(time.Minute)
			thought += time.Minute
		}
		if took := time.Since(begin) - thought; !strings.Contains(err.Error(), "the answer was not complete after 1m0s") || took != streamWithin*time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}
