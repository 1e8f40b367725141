package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/yardmaster/yardmaster/yarn/jhist"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// listHistory reads the history server's list of jobs.
func (im *importer) listHistory(ctx context.Context) error {
	im.progress(-1, "asking the history server")
	im.listed = map[key]*rest.Job{}
	for j, err := range im.Client.History().Jobs(ctx, rest.JobFilter{FinishedFrom: im.Since, FinishedUntil: im.Until}) {
		if err != nil {
			return err
		}
		k, ok := parseKey(j.ID)
		if !ok || j.FinishTime <= 0 {
			continue
		}
		if im.listed[k] = &j; len(im.listed) > maxApps {
			return fmt.Errorf("the history server lists more than %d jobs: ask for less with --since", maxApps)
		}
	}
	if len(im.listed) == 0 {
		im.tell("the history server lists no job")
	}
	im.note(len(im.listed), "jobs that the history server lists")
	return nil
}

// mismatch says why the content of a history file is not what the servers know of its job. A job's owner writes that content: it may name another user.
func (im *importer) mismatch(ctx context.Context, k key, h *jhist.Job) (why, err error) {
	user := h.User
	if a := im.apps[k]; a != nil {
		user = a.User
	}
	switch j, err := im.knownJob(ctx, k, h.ID); {
	case err != nil:
		return nil, err
	case user != h.User:
		return fmt.Errorf("it names user %.40q, the ResourceManager %.40q", h.User, user), nil
	case j == nil && im.Check:
		return errors.New("the history server does not confirm it"), nil
	case j != nil && j.User != h.User:
		return fmt.Errorf("it names user %.40q, the history server %.40q", h.User, j.User), nil
	case j != nil && (j.SubmitTime != int64(h.Submit) || j.FinishTime != int64(cmp.Or(h.Finish, jhist.Millis(j.FinishTime)))):
		return errors.New("its times are not those of the history server"), nil
	}
	return nil, nil
}

// knownJob is a job as the history server knows it; nil: it does not, or is not asked. Its list has the newest jobs only, so it is asked for others one by one.
func (im *importer) knownJob(ctx context.Context, k key, id string) (*rest.Job, error) {
	if j := im.listed[k]; j != nil || !im.Check {
		return j, nil
	}
	switch j, err := im.Client.History().Job(ctx, id); {
	case err == nil:
		return &j, nil
	case errors.Is(err, rest.ErrUnavailable) || errors.Is(err, rest.ErrUnauthenticated) || ctx.Err() != nil:
		return nil, err
	}
	return nil, nil // whatever else it says, it does not vouch for the file
}
