package rmlog

import (
	"bytes"
	"strings"
)

// parsers has, by the last part of the class's name, what to make of its messages.
var parsers = map[string]func(msg []byte, e *Event) bool{
	"RMContainerImpl":  container,
	"RMAppImpl":        app,
	"RMAppAttemptImpl": attempt,
	"RMNodeImpl":       node,

	"CapacityScheduler":     scheduler,
	"FairScheduler":         scheduler,
	"SLSCapacityScheduler":  scheduler,
	"SLSFairScheduler":      scheduler,
	"AbstractYarnScheduler": pass,
	"AbstractLeafQueue":     leaf,
	"LeafQueue":             leaf,

	"AbstractContainerAllocator": chosen,
	"RMAuditLogger":              granted,
	"SchedulerNode":              assigned,
	"FiCaSchedulerNode":          assigned,
	"FSSchedulerNode":            assigned,
	"FiCaSchedulerApp":           placed,
	"FSAppAttempt":               placed,

	"ProportionalCapacityPreemptionPolicy": round,
}

func container(msg []byte, e *Event) bool {
	id, from, to, ok := transition(msg, " Container Transitioned from ", " to ")
	if !ok || !strings.HasPrefix(id, "container_") {
		return false
	}
	e.Kind, e.Container, e.App, e.From, e.To = Container, id, AppOf(id), from, to
	return true
}

func app(msg []byte, e *Event) bool {
	id, from, to, ok := transition(msg, " State change from ", " to ")
	if !ok || !strings.HasPrefix(id, "application_") {
		return false
	}
	e.Kind, e.App, e.From = App, id, from
	e.To, e.Cause, _ = strings.Cut(to, " on event = ")
	return true
}

func attempt(msg []byte, e *Event) bool {
	if id, what, ok := processing(msg, "Processing event for "); ok {
		if what != "STATUS_UPDATE" || !strings.HasPrefix(id, "appattempt_") {
			return false
		}
		e.Kind, e.Attempt, e.App = Tick, id, AppOf(id)
		return true
	}
	id, from, to, ok := transition(msg, " State change from ", " to ")
	if !ok || !strings.HasPrefix(id, "appattempt_") {
		return false
	}
	e.Kind, e.Attempt, e.App, e.From = Attempt, id, AppOf(id), from
	e.To, e.Cause, _ = strings.Cut(to, " on event = ")
	return true
}

func node(msg []byte, e *Event) bool {
	if id, what, ok := processing(msg, "Processing "); ok {
		e.Kind, e.Node = Beat, id
		return what == "STATUS_UPDATE"
	}
	id, from, to, ok := transition(msg, " Node Transitioned from ", " to ")
	if !ok {
		return false
	}
	e.Kind, e.Node, e.From, e.To = Node, id, from, to
	return true
}

// scheduler reads how both schedulers tell of an application and of an attempt that came, and of passes:
//
//	Accepted application application_... from user: alice, in queue: root.prod
//	Added Application Attempt appattempt_... to scheduler from user alice in queue root.prod
func scheduler(msg []byte, e *Event) bool {
	s := string(msg)
	if rest, ok := strings.CutPrefix(s, "Accepted application "); ok {
		e.Kind, e.App = Accepted, word(rest)
		e.User, e.Queue = word(after(rest, " from user: ")), word(after(rest, "in queue: "))
		return strings.HasPrefix(e.App, "application_")
	}
	if rest, ok := strings.CutPrefix(s, "Added Application Attempt "); ok {
		e.Kind, e.Attempt = Added, word(rest)
		e.App = AppOf(e.Attempt)
		e.User, e.Queue = word(strings.TrimLeft(after(rest, " from user"), ": ")), word(after(rest, " in queue "))
		return e.App != ""
	}
	return pass(msg, e)
}

// pass reads "nodeUpdate: host:port cluster capacity: <...>".
func pass(msg []byte, e *Event) bool {
	rest, ok := strings.CutPrefix(string(msg), "nodeUpdate: ")
	if !ok {
		return false
	}
	e.Kind, e.Node = Pass, word(rest)
	return e.Node != ""
}

// leaf reads "Application application_... from user: alice activated in queue: root.prod".
func leaf(msg []byte, e *Event) bool {
	rest, ok := strings.CutPrefix(string(msg), "Application ")
	if !ok || !strings.Contains(rest, " activated in queue: ") {
		return false
	}
	e.Kind, e.App = Activated, word(rest)
	e.User, e.Queue = word(after(rest, " from user: ")), word(after(rest, " activated in queue: "))
	return strings.HasPrefix(e.App, "application_")
}

// chosen reads "assignedContainer application attempt=appattempt_... container=null queue=root.prod clusterResource=<...>
// type=OFF_SWITCH requestedPartition=".
func chosen(msg []byte, e *Event) bool {
	rest, ok := strings.CutPrefix(string(msg), "assignedContainer application attempt=")
	if !ok {
		return false
	}
	e.Kind, e.Attempt = Chosen, word(rest)
	e.App, e.Queue, e.Near = AppOf(e.Attempt), word(after(rest, " queue=")), word(after(rest, " type="))
	return e.App != ""
}

// granted reads the audit line of an allocation, whose fields are KEY=value between tabs.
func granted(msg []byte, e *Event) bool {
	if !bytes.Contains(msg, []byte("OPERATION=AM Allocated Container")) {
		return false
	}
	for field := range strings.SplitSeq(string(msg), "\t") {
		key, value, _ := strings.Cut(field, "=")
		switch key {
		case "USER":
			e.User = value
		case "APPID":
			e.App = value
		case "CONTAINERID":
			e.Container = value
		case "RESOURCE":
			e.Size = value
		case "QUEUENAME":
			e.Queue = value
		}
	}
	e.Kind = Granted
	return e.Container != ""
}

// assigned reads "Assigned container container_... of capacity <memory:512, vCores:1> on host host:port, which has ...".
func assigned(msg []byte, e *Event) bool {
	rest, ok := strings.CutPrefix(string(msg), "Assigned container ")
	if !ok {
		return false
	}
	e.Kind, e.Container, e.Node = Placed, word(rest), word(after(rest, " on host "))
	e.App = AppOf(e.Container)
	if i, j := strings.IndexByte(rest, '<'), strings.IndexByte(rest, '>'); i >= 0 && j > i {
		e.Size = rest[i : j+1]
	}
	return e.App != "" && e.Node != ""
}

// placed reads "allocate: applicationAttemptId=appattempt_... container=container_... host=name type=OFF_SWITCH".
func placed(msg []byte, e *Event) bool {
	rest, ok := strings.CutPrefix(string(msg), "allocate: applicationAttemptId=")
	if !ok {
		return false
	}
	e.Kind, e.Attempt, e.Container = Placed, word(rest), word(after(rest, " container="))
	e.App, e.Node, e.Near = AppOf(e.Attempt), word(after(rest, " host=")), word(after(rest, " type="))
	return strings.HasPrefix(e.Container, "container_") && e.Node != ""
}

func round(msg []byte, e *Event) bool {
	e.Kind = Round
	return bytes.HasPrefix(msg, []byte("Total time used="))
}

// transition takes "id<mid>FROM<sep>TO" apart. All three must be there.
func transition(msg []byte, mid, sep string) (id, from, to string, ok bool) {
	id, rest, ok := strings.Cut(string(msg), mid)
	if !ok || id == "" || strings.IndexByte(id, ' ') >= 0 {
		return "", "", "", false
	}
	from, to, ok = strings.Cut(rest, sep)
	return id, from, to, ok && from != "" && to != ""
}

// processing reads "<prefix>id of type WHAT".
func processing(msg []byte, prefix string) (id, what string, ok bool) {
	if !bytes.HasPrefix(msg, []byte(prefix)) {
		return "", "", false
	}
	id, what, ok = strings.Cut(string(msg[len(prefix):]), " of type ")
	return id, what, ok && id != "" && strings.IndexByte(id, ' ') < 0
}

// AppOf is the application of a container or an attempt, by their ids; empty if it is not such an id.
func AppOf(id string) string {
	kind, rest, ok := strings.Cut(id, "_")
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "_")
	switch {
	case kind == "application":
		return id
	case kind == "container" && len(parts) == 5 && strings.HasPrefix(parts[0], "e"): // container_e17_...: after a restart
		parts = parts[1:]
	case kind == "container" && len(parts) == 4, kind == "attempt" || kind == "appattempt":
	default:
		return ""
	}
	if len(parts) < 3 || parts[0] == "" || parts[1] == "" {
		return ""
	}
	return "application_" + parts[0] + "_" + parts[1]
}

// after is what follows the first mark, or nothing.
func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// word is s up to the first space, comma or tab.
func word(s string) string {
	if i := strings.IndexAny(s, " ,\t"); i >= 0 {
		return s[:i]
	}
	return s
}
