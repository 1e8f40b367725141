package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/yarn/jhist"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// askHistory takes the jobs that the history server lists and whose files were not found, unreadable or not theirs. It takes two
// requests per job: its tasks and its counters.
func (im *importer) askHistory(ctx context.Context) error {
	server := im.Client.History()
	var list []*rest.Job
	late := 0
	for k, j := range im.listed {
		switch {
		case im.store.has(k):
		case im.Files != nil && im.Now.Sub(time.UnixMilli(j.FinishTime)) < lateHistory && im.denied == 0 && im.damaged.n+im.wrong.n == 0:
			late++
		default:
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *rest.Job) int {
		return cmp.Or(cmp.Compare(a.FinishTime, b.FinishTime), cmp.Compare(a.ID, b.ID))
	})
	if late > 0 && im.apps == nil {
		im.note(late, "jobs ended less than %v ago and their files are not in place yet: the next import takes them", lateHistory)
	}
	if im.Files != nil && len(list) > 0 {
		im.note(len(list), "jobs that the history server lists have no usable file (%s): the history server is asked for them", list[0].ID)
	}
	if len(list) == 0 {
		return nil
	}
	if err := im.oneConf(ctx, server, list); err != nil {
		return err
	}
	asker := func() func(context.Context, *rest.Job) error {
		return func(ctx context.Context, j *rest.Job) error { return im.overREST(ctx, server, j) }
	}
	return parallel(ctx, im.Parallel, asker, func(do func(*rest.Job) bool) error {
		for i := range list {
			if !do(list[i]) {
				break
			}
			im.progress(float64(i)/float64(len(list)), fmt.Sprintf("%d jobs", im.store.count()))
		}
		return nil
	})
}

// oneConf reads the configuration of one job, for the AM size, which the server's other responses lack.
func (im *importer) oneConf(ctx context.Context, server *rest.MapReduce, list []*rest.Job) error {
	if im.NoConf {
		return nil
	}
	j := list[len(list)-1]
	c, err := jobConfOver(ctx, server, j.ID)
	switch {
	case err == nil:
		if im.build.am = c.am(); im.build.am.Mem > 0 {
			im.note(len(list), "jobs are taken to have AMs of the size that %s had (%v)", j.ID, im.build.am)
		}
	case ctx.Err() != nil:
		return err
	}
	return nil
}

func jobConfOver(ctx context.Context, server *rest.MapReduce, id string) (jobConf, error) {
	props, err := server.JobConf(ctx, id)
	if err != nil {
		return nil, err
	}
	c := jobConf{}
	for _, p := range props.List {
		if wantedConf(p.Name) {
			c[p.Name] = p.Value
		}
	}
	return c, nil
}

// overREST makes a job of the history server's responses.
func (im *importer) overREST(ctx context.Context, server *rest.MapReduce, r *rest.Job) error {
	h := &jhist.Job{
		ID: r.ID, Name: r.Name, User: r.User, Queue: r.Queue, Submit: jhist.Millis(max(r.SubmitTime, 0)), Launch: jhist.Millis(max(r.StartTime, 0)),
		Finish: jhist.Millis(max(r.FinishTime, 0)), Status: r.State, Uber: r.Uberized,
	}
	h.Submit = cmp.Or(h.Submit, h.Launch)
	tasks := 0
	for t, err := range server.Tasks(ctx, r.ID) {
		if err != nil {
			return im.skip(ctx, r.ID, err)
		}
		if tasks++; tasks > jhist.MaxTasks {
			return im.skip(ctx, r.ID, fmt.Errorf("more than %d tasks", jhist.MaxTasks))
		}
		task := jhist.Task{Number: tasks - 1}
		if t.StartTime > 0 && t.FinishTime > 0 {
			task.Attempts = []jhist.Attempt{{Start: jhist.Millis(t.StartTime), Finish: jhist.Millis(t.FinishTime), Outcome: outcome(t.State)}}
		}
		if t.Type == "REDUCE" {
			h.Reduces = append(h.Reduces, task)
		} else {
			h.Maps = append(h.Maps, task)
		}
	}
	groups, err := server.Counters(ctx, r.ID)
	if err != nil && !errors.Is(err, rest.ErrNotFound) {
		return im.skip(ctx, r.ID, err)
	}
	for _, g := range groups {
		for _, c := range g.Counters {
			h.Totals.Set(c.Name, c.Total)
		}
	}
	k, _ := parseKey(r.ID)
	t := tally{OverREST: 1}
	j := im.build.mapReduce(h, nil, im.apps[k], &t)
	if j == nil {
		t.OverREST = 0
	} else if im.build.am != (unit.Resources{}) {
		t.NoConf = 0 // the size is another job's, as noted
	}
	return im.take(j, &t)
}

// skip counts a job that is unavailable; only an error that every job would have ends the import.
func (im *importer) skip(ctx context.Context, id string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, rest.ErrUnavailable) || errors.Is(err, rest.ErrUnauthenticated) {
		return err
	}
	im.leaveOut(&im.damaged, id, err)
	return nil
}

func outcome(state string) jhist.Outcome {
	switch strings.ToUpper(state) {
	case "SUCCEEDED":
		return jhist.Succeeded
	case "FAILED":
		return jhist.Failed
	case "KILLED":
		return jhist.Killed
	}
	return jhist.Unended
}

// DoneDir is the folder of finished files in HDFS by the history server's own configuration: a job's could name any.
func DoneDir(ctx context.Context, c *rest.Client) (string, error) {
	const help = "give it with --done-dir (mapreduce.jobhistory.done-dir of the history server)"
	p, err := c.HistoryConf(ctx)
	if err != nil {
		return "", fmt.Errorf("where the history files are is unknown: %w: %s", err, help)
	}
	x := p.Get("mapreduce.jobhistory.done-dir")
	if x == nil || x.Value == "" || strings.Contains(x.Value, "${") {
		return "", errors.New("the history server's configuration does not say where history files are: " + help)
	}
	u, err := url.Parse(x.Value) // hdfs://host:port/path
	if err != nil || !path.IsAbs(u.Path) {
		return "", fmt.Errorf("the history server keeps its files in %.80q, which is no folder: %s", x.Value, help)
	}
	return path.Clean(u.Path), nil
}
