package run

import (
	"fmt"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/sim"
)

// lateLosses says which losses of nodes came when no job was left.
func lateLosses(losses []sim.Loss, sum *sim.Summary) (texts []string) {
	late := 0
	for i := range losses {
		if sum.Partial || losses[i].At <= sum.LastFinish {
			continue
		}
		if late++; late == 1 {
			texts = []string{fmt.Sprintf("cluster: node %s is lost %v after the start, and the last job ends after %v, %s",
				losses[i].Node, losses[i].At, sum.LastFinish, result.NoEffect)}
		}
	}
	if late > 1 {
		texts = append(texts, fmt.Sprintf("cluster: %d other losses come after the last job's end, too, %s", late-1, result.NoEffect))
	}
	return texts
}
