// Package rest reads and changes a Hadoop cluster over its web services: the ResourceManager's /ws/v1/cluster, a MapReduce
// AM's /ws/v1/mapreduce through the ResourceManager's proxy, the JobHistoryServer's /ws/v1/history and the read operations of
// WebHDFS.
//
// # Versions
//
// Responses are parsed leniently, by their JSON names, because Hadoop 2.10 to 3.5 write the same thing in several ways: an
// unknown field is skipped, a number may be quoted, a list of one may be the bare element, an empty list may be
// null, absent or an empty string, and objects may repeat a key. A value of a wrong type is an error that names the field.
//
// # Long lists
//
// Lists (applications, jobs, tasks, attempts, files) are iterators: elements are decoded one by one as they arrive, so memory is
// bounded by the largest element and not by the list.
//
// # Reads, writes and failover
//
// A read is retried, with jittered exponential backoff, if a server did not respond, is not the
// active one or is unavailable. A list is not retried once an element was handed out. A write is retried only if it is certain that no
// ResourceManager has seen it; otherwise the error is an *OutcomeUnknownError and the caller has to read back
// the outcome.
//
// # Trust
//
// Credentials go only to servers that the options name, and to other ResourceManagers that the configuration of a named one lists. A standby's redirect
// is not followed: it only means that another one must be tried. An AM is a user's process, and may respond with anything: its redirects
// are errors. The one redirect that is followed leads from a NameNode to a DataNode, without credentials.
//
// # Rate limits
//
// By default the ResourceManager gets at most two requests a second, and the history server and the file system
// a bounded number at a time: they belong to somebody else's production cluster.
package rest
