package cli

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/result/verdict"
	runpkg "github.com/yardmaster/yardmaster/run"
	"github.com/yardmaster/yardmaster/whatif"
)

// rowsOut are the files of a comparison for other programs: rows by variant, and the table.
type rowsOut struct {
	dir, csv string
	folders  []*result.Folder // by variant
	names    []string         // of the folders
}

func (o *rowsOut) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.dir, "out", "",
		"write jobs.parquet, timeline.parquet and result.json of each variant, with the first seed, into a folder of its own in `DIR`")
	fs.StringVar(&o.csv, "csv", "", "write the comparison's table as CSV to `FILE`: a line for each metric, group and variant")
	setGroup(fs, inOutput, "out", "csv")
}

// prepare makes the folders, so that one that cannot be written is known before anything runs.
func (o *rowsOut) prepare(ctx context.Context, variants []runpkg.Spec) error {
	if o.dir == "" {
		return nil
	}
	for i := range variants {
		name := folderName(cmp.Or(variants[i].Name, variants[i].Scheduler.Title()), o.names)
		folder, err := newFolder(ctx, filepath.Join(o.dir, name))
		if err != nil {
			return err
		}
		o.names, o.folders = append(o.names, name), append(o.folders, folder)
	}
	return nil
}

// folderName is a variant's name as that of a folder, which none of the others has.
func folderName(variant string, others []string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '_' || r == '.' || r == '=' || r == '+' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '-'
	}, variant), "-.")
	if name = cmp.Or(name[:min(len(name), 100)], "variant"); !slices.Contains(others, name) {
		return name
	}
	for i := 2; ; i++ {
		if next := name + "-" + strconv.Itoa(i); !slices.Contains(others, next) {
			return next
		}
	}
}

// discard removes what was not written.
func (o *rowsOut) discard() {
	for _, f := range o.folders {
		f.Discard()
	}
}

// write runs each variant once more, with rows: a comparison keeps figures alone. The workload is the one that was given, not one
// of the perturbed ones that a comparison may judge over.
func (o *rowsOut) write(ctx context.Context, variants []runpkg.Spec, seed uint64) error {
	for i, folder := range o.folders {
		spec := variants[i]
		spec.Seed, spec.Sink = seed, folder
		one, err := runpkg.Result(ctx, spec)
		switch {
		case err != nil:
			return fmt.Errorf("out: %w", err)
		case one.Partial:
			return errPartial
		}
		if err := writeFolder(folder, filepath.Join(o.dir, o.names[i]), one.Run); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes the comparison's table.
func writeCSV(w io.Writer, c *whatif.Comparison) error {
	out := csv.NewWriter(w)
	lines := [][]string{strings.Fields("kind name metric unit variant mean change_percent change_low change_high judgement")}
	number := func(v float64) string {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 9, 64)
	}
	labels := c.Labels()
	add := func(kind, name string, rows []verdict.Row) {
		for _, row := range rows {
			for i, cell := range row.Cells {
				changes := []string{"", "", ""}
				if i > 0 {
					changes = []string{number(cell.Change), number(cell.ChangeLow), number(cell.ChangeHigh)}
				}
				lines = append(lines, slices.Concat([]string{kind, name, row.Metric, row.Unit.String(), labels[i], number(cell.Mean)},
					changes, []string{cell.Judgement.String()}))
			}
		}
	}
	add("cluster", "", c.Rows)
	for _, g := range c.Groups {
		add(g.Kind, g.Name, g.Rows)
	}
	if err := errors.Join(out.WriteAll(lines), out.Error()); err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	return nil
}
