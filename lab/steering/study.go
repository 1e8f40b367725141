package steering

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/yardmaster/yardmaster/lab/evidence"
	"github.com/yardmaster/yardmaster/lab/hadoop"
	"github.com/yardmaster/yardmaster/lab/host"
	"github.com/yardmaster/yardmaster/steer/marp"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Study is the live study.
type Study struct {
	Size        Size
	Dir         string   // of the records and pictures
	Page        string   // the report's file
	Work        string   // of the daemons; "": a temporary folder
	Binary      string   // the program; "": it is built
	Schedulers  []string // fair, capacity
	Only        []string // arms; empty: all
	Repetitions int
	First       bool // the daemons and their jobs go before other work on the computer, where that is allowed
	Log         io.Writer

	program string // its version
}

// Seed of the orders in which the arms of a repetition run.
const Seed = 6

// sweeps says with which scheduler the static shares between one job and all are run.
func sweeps(scheduler string) bool { return scheduler == "capacity" }

// Record runs the batches that have no record yet.
func (s *Study) Record(ctx context.Context) error {
	bin, remove, err := host.Program(ctx, s.Binary)
	if err != nil {
		return err
	}
	defer remove()
	s.program = evidence.Program(s.Binary)
	if s.First {
		end, err := host.First(-10)
		defer end()
		if err != nil {
			fmt.Fprintln(s.Log, "going before other work is not allowed here:", err)
		}
	}
	for from := 1; from <= s.Repetitions; from += round {
		for _, scheduler := range s.Schedulers {
			err := s.round(ctx, bin, scheduler, from)
			for again := 0; errors.Is(err, errStuck) && again < 3; again++ {
				fmt.Fprintf(s.Log, "%s: %v: again, on new daemons\n", scheduler, err)
				err = s.round(ctx, bin, scheduler, from)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", scheduler, err)
			}
		}
	}
	return nil
}

// round is how many repetitions run before it is the other scheduler's turn, with new daemons.
const round = 2

// todo is one batch to run.
type todo struct {
	arm               Arm
	repetition, place int
}

// plan is all batches of a scheduler in their order: every arm once in each repetition, shuffled anew for each.
func (s *Study) plan(scheduler string) []todo {
	var list []todo
	for r := 1; r <= s.Repetitions; r++ {
		arms := s.Size.arms(sweeps(scheduler))
		which := uint64(r)
		if scheduler == "capacity" {
			which += 1000
		}
		random := rand.New(rand.NewPCG(Seed, which))
		random.Shuffle(len(arms), func(i, k int) { arms[i], arms[k] = arms[k], arms[i] })
		for i, a := range arms {
			if len(s.Only) == 0 || slices.Contains(s.Only, a.Name) {
				list = append(list, todo{a, r, i + 1})
			}
		}
	}
	return list
}

func (s *Study) file(scheduler string) string {
	return filepath.Join(s.Dir, scheduler+".jsonl.gz")
}

// round runs what is missing of some repetitions, on daemons of its own.
func (s *Study) round(ctx context.Context, bin, scheduler string, from int) error {
	have, err := kept(s.file(scheduler))
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(s.plan(scheduler), func(t todo) bool {
		return t.repetition < from || t.repetition >= from+round || slices.ContainsFunc(have, func(b *Batch) bool { return b.Arm == t.arm.Name && b.Repetition == t.repetition })
	})
	if len(list) == 0 {
		return nil
	}
	if s.Work != "" {
		if err := os.MkdirAll(s.Work, 0o755); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(s.Work, fmt.Sprintf("yardmaster-steering-%s-%d-", scheduler, from))
	if err != nil {
		return err
	}
	if s.Work == "" {
		defer func() { _ = os.RemoveAll(work) }() // what stays is for the system to clear
	}
	all := marp.PRJ(s.Size.master(), s.Size.Jobs)
	o := s.Size.options(scheduler, all)
	o.Dir, o.Log = filepath.Join(work, "lab"), s.Log
	c, err := hadoop.Up(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if err := c.Down(); err != nil {
			fmt.Fprintln(s.Log, "taking the lab down:", err)
		}
	}()
	rm, err := rest.New(rest.Options{RM: []string{c.RM()}, History: c.History(), Auth: rest.User("yardmaster"), RMRate: -1})
	if err != nil {
		return err
	}
	n := &bench{size: s.Size, c: c, rm: rm, share: all, binary: bin, work: work, log: s.Log}
	if s.Size.Archive {
		if err := n.archive(ctx); err != nil {
			return err
		}
		fmt.Fprintln(s.Log, "a batch to warm the daemons up")
		if _, err := n.batch(ctx, Arm{Name: "warm", Share: n.share}, 0, 0); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
	}
	fmt.Fprintf(s.Log, "%s: %d batches from repetition %d on\n", scheduler, len(list), from)
	began := time.Now()
	for i, t := range list {
		run := evidence.Begin(s.program)
		b, err := n.batch(ctx, t.arm, t.repetition, t.place)
		if err != nil {
			return fmt.Errorf("repetition %d, %s: %w", t.repetition, t.arm.Name, err)
		}
		b.Program = s.program
		if err := keep(s.file(scheduler), b, run); err != nil {
			return err
		}
		left := time.Duration(float64(time.Since(began)) / float64(i+1) * float64(len(list)-i-1)).Round(time.Second)
		fmt.Fprintf(s.Log, "%s %s %d/%d: repetition %d, %-10s %5.1f s, idle %4.1f core-s, %d writes, load %.1f; about %v left of this round\n", time.Now().Format("15:04:05"), scheduler, i+1, len(list),
			b.Repetition, b.Arm, b.span(), b.idle(), len(b.Writes), b.Load, left)
	}
	return nil
}
