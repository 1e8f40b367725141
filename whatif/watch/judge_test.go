package watch

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/whatif/goal"
)

// of makes applications of a user that were submitted after the change, or before it.
func of(user string, n int, since bool, took time.Duration, succeeded bool) (list []App) {
	for i := range n {
		at := start.Add(-time.Duration(i+1) * time.Minute)
		if since {
			at = start.Add(time.Duration(i+1) * time.Second)
		}
		list = append(list, App{ID: fmt.Sprint(user, since, succeeded, i), Queue: "root.prod", User: user, Submitted: at.Add(-took), Finished: at, SoFar: took, Succeeded: succeeded})
		if since {
			list[i].Submitted, list[i].Finished = at, at.Add(took)
		}
	}
	return list
}

// One user's applications do not break a bound, however many fail or are slow; those of two do. In a queue of one user they do.
func TestOneVoteAUser(t *testing.T) {
	b, err := goal.ParseBound("mean elapsed of root.prod <= +20 %")
	if err != nil {
		t.Fatal(err)
	}
	const fast, slow = 10 * time.Second, 100 * time.Second
	users := func(n, each int, since bool, took time.Duration) (list []App) {
		for i := range n {
			list = append(list, of("user-"+strconv.Itoa(i), each, since, took, true)...)
		}
		return list
	}
	failing := func(user string) []App { return of(user, 14, true, time.Second, false) }
	honest := users(4, 10, false, fast)
	for name, c := range map[string]struct {
		before, since []App
		want          Verdict
	}{
		"nothing":                       {honest, users(4, 5, true, fast), Verdict{}},
		"one fails":                     {honest, append(users(4, 5, true, fast), failing("mallory")...), Verdict{Alone: true, User: "mallory"}},
		"one fails, others are quiet":   {honest, failing("mallory"), Verdict{Alone: true, User: "mallory"}},
		"one fails, and ran before":     {append(of("mallory", 30, false, fast, true), honest...), append(users(4, 5, true, fast), failing("mallory")...), Verdict{Alone: true, User: "mallory"}},
		"two fail":                      {honest, append(users(4, 5, true, fast), append(failing("user-0"), failing("user-1")...)...), Verdict{Rejects: true}},
		"one is slow, and new":          {honest, append(users(4, 5, true, fast), of("mallory", 40, true, slow, true)...), Verdict{}},
		"one is slow":                   {append(of("mallory", 10, false, fast, true), honest...), append(users(4, 5, true, fast), of("mallory", 40, true, slow, true)...), Verdict{Alone: true, User: "mallory"}},
		"all are slow":                  {honest, users(4, 5, true, slow), Verdict{Broken: true}},
		"two are slow":                  {users(2, 40, false, fast), append(of("user-0", 11, true, slow, true), of("user-1", 9, true, slow, true)...), Verdict{Broken: true}},
		"one of two is slow":            {users(2, 40, false, fast), append(of("user-0", 40, true, slow, true), of("user-1", 9, true, fast, true)...), Verdict{Alone: true, User: "user-0"}},
		"a visitor agrees":              {users(2, 40, false, fast), append(of("user-0", 20, true, slow, true), of("user-1", 4, true, slow, true)...), Verdict{Alone: true, User: "user-0"}},
		"the only user fails":           {of("etl", 40, false, fast, true), append(of("etl", 10, true, fast, true), failing("etl")...), Verdict{Rejects: true, Sole: true, User: "etl"}},
		"one fails in another's queue":  {of("etl", 40, false, fast, true), append(of("etl", 10, true, fast, true), failing("mallory")...), Verdict{Alone: true, User: "mallory"}},
		"the only user, with a visitor": {append(of("etl", 40, false, fast, true), of("bob", 2, false, fast, true)...), of("etl", 20, true, slow, true), Verdict{Broken: true, Sole: true, User: "etl"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(10*time.Minute, c.before)
			w.Add(c.since, 10*time.Minute)
			f, err := w.Measure(b.Goal)
			if err != nil {
				t.Fatal(err)
			}
			got := w.Judge(b, &f)
			list := got.Users
			if got.Users = nil; fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%+v, want %+v: %+v", got, c.want, f)
			}
			if len(list) > 0 && got.Rejects && list[0].Failed == 0 {
				t.Errorf("users: %+v", list)
			}
		})
	}
}
