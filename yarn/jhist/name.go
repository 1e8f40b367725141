package jhist

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// FileName is the information in the name of a finished history file: see FileNameIndexUtils. The history server truncates names
// (mapreduce.jobhistory.jobname.limit), so they serve to select files, not to name jobs.
type FileName struct {
	JobID          string
	Submit, Finish Millis
	Start          Millis // 0 in names of older versions
	User, JobName  string
	Queue, Status  string // "" in names of older versions
	Maps, Reduces  int64
}

// ParseFileName parses names such as job_1700000000000_0007-1700000001000-ann-word+count-1700000050000-4-1-SUCCEEDED-etl-1700000003000.jhist.
func ParseFileName(name string) (FileName, error) {
	bad := func(why string) (FileName, error) {
		return FileName{}, fmt.Errorf("%q is not the name of a finished job's history file: %s", cut(name, 80), why)
	}
	body, ok := strings.CutSuffix(name, ".jhist")
	if !ok {
		return bad("it does not end in .jhist")
	}
	parts := strings.Split(body, "-")
	if len(parts) < 8 || len(parts) > 16 {
		return bad("it does not have the parts of one")
	}
	if !strings.HasPrefix(parts[0], "job_") {
		return bad("it does not begin with a job's id")
	}
	var fail error
	number := func(i int) int64 {
		if i >= len(parts) {
			return 0
		}
		n, err := strconv.ParseInt(parts[i], 10, 64)
		if err != nil {
			fail = fmt.Errorf("%q is not a number", cut(parts[i], 20))
		}
		return n
	}
	text := func(i int) string {
		if i >= len(parts) {
			return ""
		}
		s, err := url.QueryUnescape(parts[i]) // Java's URLEncoder wrote it
		if err != nil {
			return parts[i]
		}
		return s
	}
	f := FileName{
		JobID: parts[0], Submit: Millis(number(1)), User: text(2), JobName: text(3), Finish: Millis(number(4)),
		Maps: number(5), Reduces: number(6), Status: text(7), Queue: text(8), Start: Millis(max(number(9), 0)),
	}
	if fail != nil {
		return bad(fail.Error())
	}
	return f, nil
}
