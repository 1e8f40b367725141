package history

import (
	"strconv"
	"strings"
)

// key is a job or application, whichever way its id is written: job_CLUSTER_NUMBER, application_CLUSTER_NUMBER.
type key struct {
	cluster int64 // when the ResourceManager that numbered it was started
	number  int64
}

func parseKey(id string) (key, bool) {
	rest, ok := strings.CutPrefix(id, "job_")
	if !ok {
		if rest, ok = strings.CutPrefix(id, "application_"); !ok {
			return key{}, false
		}
	}
	c, n, ok := strings.Cut(rest, "_")
	if !ok {
		return key{}, false
	}
	cluster, err := strconv.ParseInt(c, 10, 64)
	if err != nil {
		return key{}, false
	}
	number, err := strconv.ParseInt(n, 10, 64)
	return key{cluster, number}, err == nil
}
