//go:build unix

package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer/session"
)

// failing gives the ResourceManager applications of three users before a change and since, and failing ones of others since.
func (rm *preparedRM) failing(users ...string) {
	rm.busy(func(string) time.Duration { return 10 * time.Second })
	rm.set(func() {
		inner, asked := rm.list, 0
		rm.list = func() (list []any) {
			asked++
			for i, x := range inner() {
				a := x.(map[string]any)
				if a["user"] = fmt.Sprintf("user-%d", i%3); i >= 40 {
					a["finishedTime"] = a["startedTime"].(int64) + 100
				}
				list = append(list, a)
			}
			if asked == 1 {
				return list // before the change
			}
			for i := range 14 * len(users) {
				at := time.Now().UnixMilli() // after whatever was there before the change
				list = append(list, map[string]any{"id": fmt.Sprintf("application_2_%04d", i), "queue": "root.prod", "user": users[i%len(users)], "state": "FAILED",
					"finalStatus": "FAILED", "startedTime": at, "finishedTime": at + 100, "elapsedTime": 100})
			}
			return list
		}
	})
}

// Fourteen failing applications of one user do not force a rollback; those of two do, and the message says whose they are.
func TestApplyOneUserDoesNotDecide(t *testing.T) {
	watch := append([]string{"--keep", "p95 elapsed of root.prod <= +2 %", "--watch", "4s", "--act"}, raised...)
	rm, journal := newPreparedRM(t), filepath.Join(t.TempDir(), "j")
	rm.failing("mallory")
	text := rm.apply(t, journal, 0, `is broken by the applications of "mallory" only: one user alone does not decide`, watch...)
	if rm.capacities() != "70 30" || strings.Contains(text, "No bound was broken") {
		t.Errorf("%v:\n%s", rm.settings(), text)
	}
	if text := readText(t, filepath.Join(journal, session.RecordFile)); !strings.Contains(text, `mallory`) {
		t.Error(text)
	}
	rm, journal = newPreparedRM(t), filepath.Join(t.TempDir(), "j")
	rm.failing("mallory", "bob")
	rm.apply(t, journal, 1, `28 applications of root.prod failed or were rejected ("bob": 14, "mallory": 14)`, watch...)
	if rm.capacities() != "40 60" {
		t.Errorf("%v", rm.settings())
	}
}
