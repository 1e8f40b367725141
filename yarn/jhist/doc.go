// Package jhist reads the job history files that MapReduce AMs write (Hadoop 2.10 to 3.5).
//
// A file is a line with the name of its format, a line with an Avro schema, and then the events: bare Avro records
// ("Avro-Binary", the default) or JSON objects ("Avro-Json", mapreduce.jobhistory.jhist.format=json). It is not an Avro
// container. The events are read with the file's own schema, and fields are accessed by name, so that versions with
// more or fewer fields all work: see org.apache.hadoop.mapreduce.jobhistory and its Events.avpr.
//
// The events of a job are folded into one Job as they are read. Memory holds one record (at most MaxRecord bytes) and the
// Job, with limits on attempts and hosts: a file that is too large, damaged or malicious gives an error.
//
// A restarted AM repeats the events of its predecessor; they map to the same tasks and attempts.
package jhist

// Millis is an instant in milliseconds since 1970, as Hadoop writes it; 0 if unknown.
type Millis int64

// Job is the content of a job's history file.
type Job struct {
	ID, Name, User, Queue string
	Priority              string // as last changed while it ran; "" if never changed
	Submit                Millis
	Launch                Millis // when its AM had made it ready to run (JobInited)
	Finish                Millis
	Status                string   // SUCCEEDED, FAILED, KILLED, ERROR; "" if the file does not say how it ended
	Uber                  bool     // its tasks ran inside its AM
	AMs                   []AM     // one per start of its AM
	Maps, Reduces         []Task   // by number
	Totals                Counters // of the whole job; zero if it did not succeed
	Events                int64    // records in the file
}

// AM is one start of an ApplicationMaster.
type AM struct {
	Start     Millis // start of its process
	Container string
}

// Task is a map or a reduce.
type Task struct {
	Number   int
	Hosts    []string // hosts with the input of a map
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

// Attempt is one attempt of a task.
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

// Counters are the few MapReduce counters that show what a job moved and how large its containers were.
type Counters struct {
	Moved
	MemoryMillisMaps, MemoryMillisReduces int64 // MB_MILLIS_MAPS, MB_MILLIS_REDUCES: MiB times milliseconds
	CoreMillisMaps, CoreMillisReduces     int64 // VCORES_MILLIS_MAPS, VCORES_MILLIS_REDUCES
	SlotMillisMaps, SlotMillisReduces     int64 // MILLIS_MAPS, MILLIS_REDUCES
}

// Limits of a history file.
const (
	MaxRecord   = 4 << 20 // bytes of one event
	MaxSchema   = 1 << 20 // bytes of the schema
	MaxTasks    = 1 << 20 // maps or reduces
	MaxAttempts = 1 << 20 // of all tasks together
	MaxHosts    = 16      // of one task's input that are kept
	maxText     = 4 << 10 // bytes of a name that are kept
)

// Successful returns the attempt that made the task's output; nil if none did.
func (t *Task) Successful() *Attempt {
	for i := range t.Attempts {
		if t.Attempts[i].Outcome == Succeeded {
			return &t.Attempts[i]
		}
	}
	return nil
}
