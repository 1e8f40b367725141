package cli

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/scenario"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/spark"
)

func newSpark(known *scenario.Catalogue) *cobra.Command {
	cmd := &cobra.Command{Use: "spark", Short: "Ask about Spark applications and their executors"}
	cmd.AddCommand(newSparkSize(known), newSparkQueue(known), newSparkTimeline(known))
	return cmd
}

// oneLog finds the log of one application.
func oneLog(ctx context.Context, path string) (*spark.Log, error) {
	if strings.Contains(path, "://") {
		return nil, misuse("Copy the log here and name the file. Of an application that import spark has imported, spark size knows by --history.", "%s is not on this machine", path)
	}
	logs, err := spark.Local(path).Logs(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, misuse("Name the event log of one application. By its name, spark size finds an application in an imported history: --history DIR NAME.", "there is no file %q", path)
	}
	if err != nil {
		return nil, err
	}
	if len(logs) != 1 {
		return nil, misuse("Name the log of one application: a file, or its eventlog_v2_ folder. An imported history is named by --history.", "%s holds %s", path, unit.Count(int64(len(logs)), "log"))
	}
	return &logs[0], nil
}
