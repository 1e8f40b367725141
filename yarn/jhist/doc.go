// Package jhist reads the job history files that MapReduce AMs write (Hadoop 2.10 to 3.5).
//
// A file is a line that names its format, a line with an Avro schema, and then one event after the other: bare Avro records
// ("Avro-Binary", the default) or JSON objects ("Avro-Json", mapreduce.jobhistory.jhist.format=json). It is no Avro
// container. The events are read with the schema that the file itself carries, and taken by name, so that versions that
// have more or fewer fields are all understood: see org.apache.hadoop.mapreduce.jobhistory and its Events.avpr.
//
// The events of a job are folded into one Job as they pass. What is held is one record (at most MaxRecord bytes) and the
// Job, whose attempts and hosts are counted: a file that is larger, damaged or made to do harm gives an error.
//
// An AM that was started again repeats the events of its predecessor; they fall onto the same tasks and attempts.
package jhist

// Millis is an instant in milliseconds since 1970, as Hadoop writes it; 0 where nobody knows.
type Millis int64

// Job is what a history file says of a job.
type Job struct {
	ID, Name, User, Queue string
	Priority              string // as last changed while it ran; "" when it never was
	Submit                Millis
	Launch                Millis // when its AM had made it ready to run (JobInited)
	Finish                Millis
	Status                string   // SUCCEEDED, FAILED, KILLED, ERROR; "" when the file does not say how it ended
	Uber                  bool     // its tasks ran inside its AM
	AMs                   []AM     // one for every time that its AM was started
	Maps, Reduces         []Task   // by number
	Totals                Counters // of the whole job; zero when it did not succeed
	Events                int64    // records in the file
}

// AM is one start of an ApplicationMaster.
type AM struct {
	Start     Millis // when its process began
	Container string
}

// Task is a map or a reduce.
type Task struct {
	Number   int
	Hosts    []string // where the input of a map lies
	Attempts []Attempt
}

// Outcome says how an attempt ended.
type Outcome uint8

// How an attempt ended.
const (
	Unended Outcome = iota
	Succeeded
	Failed
	Killed
)

// Attempt is one try of a task.
type Attempt struct {
	Number          int
	Start, Finish   Millis // from the launch of its container, the start of its process included
	ShuffleFinished Millis // reduces
	Outcome         Outcome
	Locality        string // NODE_LOCAL, RACK_LOCAL, OFF_SWITCH; "" from older versions
	Moved           Moved
}

// Moved is the data, in bytes, that an attempt or a job handled.
type Moved struct {
	HDFSRead, HDFSWritten int64
	Shuffled              int64 // REDUCE_SHUFFLE_BYTES
}

// Counters are the few of MapReduce's counters that tell what a job moved and how large its containers were.
type Counters struct {
	Moved
	MemoryMillisMaps, MemoryMillisReduces int64 // MB_MILLIS_MAPS, MB_MILLIS_REDUCES: MiB times milliseconds
	CoreMillisMaps, CoreMillisReduces     int64 // VCORES_MILLIS_MAPS, VCORES_MILLIS_REDUCES
	SlotMillisMaps, SlotMillisReduces     int64 // MILLIS_MAPS, MILLIS_REDUCES
}

// Limits on what is taken for a history file.
const (
	MaxRecord   = 4 << 20 // bytes of one event
	MaxSchema   = 1 << 20 // bytes of the schema
	MaxTasks    = 1 << 20 // maps or reduces
	MaxAttempts = 1 << 20 // of all tasks together
	MaxHosts    = 16      // of one task's input that are kept
	maxText     = 4 << 10 // bytes of a name that are kept
)

// Successful returns the attempt that made the task's output; nil when none did.
func (t *Task) Successful() *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].Outcome == Succeeded {
			return &t.Attempts[i]
		}
	}
	return nil
}
