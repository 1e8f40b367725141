package timeline

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/internal/term"
	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/spark"
)

func read(t *testing.T, log string) *Log {
	t.Helper()
	l, err := Read(t.Context(), &spark.Log{Name: "log", Files: []spark.File{{Name: "log", Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(log)), nil
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The picture of a real run; UPDATE=1 draws it again: look at it.
func TestPictureOfARealRun(t *testing.T) {
	data, err := os.ReadFile("../../workload/spark/testdata/report.log")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Alone(t.Context(), read(t, string(data)))
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := c.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/report.svg"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, svg.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(svg.Bytes(), want) {
		t.Errorf("the picture differs from %s; UPDATE=1 rewrites it", golden)
	}
	if strings.Contains(svg.String(), "SECRET") {
		t.Error("the picture has what a log must not give away")
	}
	a, b := c.Observed.Figures(), c.Simulated.Figures()
	if a.Tasks != b.Tasks || b.Elapsed < a.Elapsed*97/100 || b.Elapsed > a.Elapsed || a.Peak != b.Peak {
		t.Errorf("observed %+v, simulated %+v", a, b)
	}
}

const head = `{"Event":"SparkListenerLogStart","Spark Version":"3.5.1"}
{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.master":"yarn","spark.executor.instances":"INSTANCES","spark.executor.cores":"1"}}
{"Event":"SparkListenerApplicationStart","App Name":"\u001b[31m</text><script>","App ID":"application_1_0001","Timestamp":1700000000000,"User":"ann"}
`

const tail = `
{"Event":"SparkListenerExecutorAdded","Timestamp":1700000004000,"Executor ID":"1","Executor Info":{"Host":"<b>","Total Cores":1}}
{"Event":"SparkListenerStageSubmitted","Stage Info":{"Stage ID":7,"Stage Attempt ID":0,"Stage Name":"count at x","Number of Tasks":1,"Submission Time":1700000005000}}
{"Event":"SparkListenerTaskEnd","Stage ID":7,"Task Type":"ResultTask","Task End Reason":{"Reason":"Success"},"Task Info":{"Task ID":0,"Index":0,"Launch Time":1700000006000,"Executor ID":"1","Finish Time":1700000009000}}
{"Event":"SparkListenerTaskEnd","Stage ID":8,"Task Type":"ResultTask","Task End Reason":{"Reason":"ExceptionFailure"},"Task Info":{"Task ID":1,"Index":0,"Launch Time":1700000006000,"Executor ID":"none","Finish Time":1700000009000,"Failed":true}}
{"Event":"SparkListenerTaskEnd","Stage ID":7,"Task Type":"ResultTask","Task End Reason":{"Reason":"ExceptionFailure"},"Task Info":{"Task ID":2,"Index":1,"Launch Time":1700000006000,"Executor ID":"none","Finish Time":4398046511104,"Failed":true}}
{"Event":"SparkListenerApplicationEnd","Timestamp":1700000012000}
`

// Names of a log can do no harm, and settings that nobody could run neither.
func TestHostileLog(t *testing.T) {
	c, err := Alone(t.Context(), read(t, strings.Replace(head, "INSTANCES", "2000000000", 1)+tail))
	if err != nil {
		t.Fatal(err)
	}
	var text, svg bytes.Buffer
	c.Text(&text, 80, term.Ink{})
	if err := c.SVG(&svg); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"text": &text, "SVG": &svg} {
		if s := b.String(); strings.Contains(s, "\x1b") || name != "text" && (strings.Contains(s, "</text><script>") || strings.Contains(s, "<b>\n") || strings.Contains(s, "· <b>")) {
			t.Errorf("%s: %.3000s", name, s)
		}
	}
	if n := len(c.Simulated.Executors); n != 10_000 {
		t.Errorf("%d executors", n)
	}
	if f := c.Observed.Figures(); f.Tasks != 1 || f.Failed != 1 || c.failed != 1 || f.Held != 8*unit.Second {
		t.Errorf("%+v", f)
	}
}
