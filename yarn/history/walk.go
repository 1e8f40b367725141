package history

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/yarn/jhist"
)

// The history server keeps finished files in yyyy/mm/dd/NNNNNN, by the day on which the job finished, a thousand jobs to a
// folder. Other layouts work too.

type ref struct {
	path string
	name jhist.FileName
	key  key
}

// visit reports whether a folder yyyy, yyyy/mm or yyyy/mm/dd can hold jobs that finished after a time; zero: no bound. The server names days in its
// own time zone, so there is a margin of a day.
func visit(p string, from time.Time) bool {
	parts := strings.Split(p, "/")
	parts = parts[:min(len(parts), 3)]
	n := [3]int{0, 1, 1}
	for i, part := range parts {
		v, err := strconv.Atoi(part)
		if err != nil || len(part) != []int{4, 2, 2}[i] {
			return true // not such a folder
		}
		n[i] = v
	}
	n[len(parts)-1]++
	end := time.Date(n[0], time.Month(n[1]), n[2], 0, 0, 0, 0, time.UTC)
	return from.IsZero() || end.Add(24*time.Hour).After(from)
}

const (
	maxDepth   = 8
	maxFolders = 1 << 20
)

// folders lists all folders that may hold wanted files, in order.
func folders(ctx context.Context, f Folder, from time.Time) ([]string, error) {
	var all []string
	var down func(p string, depth int) error
	down = func(p string, depth int) error {
		if depth > maxDepth || len(all) > maxFolders {
			return fmt.Errorf("history files: %s is too deep or has too many folders: give the done directory itself", f)
		}
		var dirs []string
		files := false
		for e, err := range f.List(ctx, p) {
			if err != nil {
				return err
			}
			if e.Dir {
				dirs = append(dirs, e.Name)
			} else {
				files = files || strings.HasSuffix(e.Name, ".jhist")
			}
		}
		if files {
			all = append(all, p)
		}
		slices.Sort(dirs)
		for _, name := range dirs {
			if sub := path.Join(p, name); visit(sub, from) {
				if err := down(sub, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := down("", 0)
	return all, err
}

// files lists the wanted history files of one folder, and counts those with uninformative names.
func files(ctx context.Context, f Folder, dir string, want func(ref) bool) (list []ref, odd int, err error) {
	for e, err := range f.List(ctx, dir) {
		if err != nil {
			return nil, 0, err
		}
		if e.Dir || !strings.HasSuffix(e.Name, ".jhist") {
			continue
		}
		r := ref{path: path.Join(dir, e.Name)}
		if r.name, err = jhist.ParseFileName(e.Name); err == nil {
			var ok bool
			if r.key, ok = parseKey(r.name.JobID); ok {
				if want(r) {
					list = append(list, r)
				}
				continue
			}
		}
		odd++
		list = append(list, r) // its content is known once it is read
	}
	slices.SortFunc(list, func(a, b ref) int { return strings.Compare(a.path, b.path) })
	return list, odd, nil
}

// key identifies a job or application, in either form of id: job_CLUSTER_NUMBER, application_CLUSTER_NUMBER.
type key struct {
	cluster int64 // start time of the ResourceManager that numbered it
	number  int64
}

func parseKey(id string) (key, bool) {
	parts := strings.Split(id, "_")
	if len(parts) != 3 || parts[0] != "job" && parts[0] != "application" {
		return key{}, false
	}
	cluster, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return key{}, false
	}
	number, err := strconv.ParseInt(parts[2], 10, 64)
	return key{cluster, number}, err == nil
}
