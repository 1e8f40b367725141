package watch

import (
	"context"
	"fmt"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

// List lists the applications of a ResourceManager that were submitted from a time on.
func List(ctx context.Context, c *rest.Client, from time.Time) (list []App, err error) {
	for x, err := range c.Apps(ctx, rest.AppFilter{StartedFrom: from}) {
		if err != nil {
			return nil, err
		}
		if len(list) == MaxList {
			return nil, fmt.Errorf("the ResourceManager lists more than %d applications: lower yarn.resourcemanager.max-completed-applications", MaxList)
		}
		app := App{ID: x.ID, Queue: x.Queue, User: x.User, Name: x.Name, Held: float64(max(x.MemorySeconds, 0)),
			Submitted: time.UnixMilli(x.StartedTime), SoFar: time.Duration(min(max(x.ElapsedTime, 0), 1<<40)) * time.Millisecond}
		if x.LaunchTime > 0 {
			app.Launched = time.UnixMilli(x.LaunchTime)
		}
		if x.Ended() {
			app.Finished, app.Succeeded = time.UnixMilli(x.FinishedTime), x.FinalStatus == "SUCCEEDED"
		}
		list = append(list, app)
	}
	return list, nil
}
