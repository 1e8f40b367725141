package batchlog

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload"
)

func TestRead(t *testing.T) {
	const log = header + "\na ana 0 3 10\nb bob 2.5 1 60\n"
	if !Format.Sniff([]byte(log)) || Format.Sniff([]byte("a ana 0 3 10\n")) {
		t.Error("recognised wrongly")
	}
	src, err := Format.Read(strings.NewReader(log), "log")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := workload.ReadAll(src)
	if err != nil || len(jobs) != 2 || jobs[1].Submit != unit.FromSeconds(2.5) || jobs[0].Tasks() != 3 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	src, err = Format.Read(strings.NewReader(header+"\na ana zero 3 10\n"), "log")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workload.ReadAll(src); err == nil || !strings.Contains(err.Error(), "log:2: ") {
		t.Errorf("%v", err)
	}
}
