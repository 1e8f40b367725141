// Package favour gives the waiting jobs of one user a priority of 5.
package favour

import (
	"errors"
	"strings"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/unit"
)

// Entry is what cli.WithSteering takes.
var Entry = steer.Entry{
	Name:   "favour",
	Title:  "raises the priority of one user's waiting jobs",
	Params: []steer.Param{{Name: "user", Value: "NAME", Help: "whose jobs; needed"}},
	Needs:  steer.Needs{Priority: true},
	New: func(s *steer.Setup) (steer.Steerer, error) {
		user := ""
		for _, pair := range s.Set {
			name, value, _ := strings.Cut(pair, "=")
			if name != "user" {
				return nil, &steer.SettingError{Name: name, Err: errors.New("there is no setting " + name)}
			}
			user = value
		}
		if user == "" {
			return nil, errors.New("favour: say whose jobs: user=NAME")
		}
		return favour{s.Queue, user}, nil
	},
}

type favour struct{ queue, user string }

// Step implements steer.Steerer.
func (f favour) Step(seen *steer.Snapshot) (do []steer.Action, again unit.Time) {
	for _, j := range seen.Jobs {
		if j.Queue == f.queue && j.User == f.user && !j.Started && j.Priority < 5 {
			do = append(do, steer.Action{Kind: steer.SetPriority, Job: j.ID, Value: 5, Why: "it is " + f.user + "'s"})
		}
	}
	return do, 10 * unit.Second
}
