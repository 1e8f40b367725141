package yardmaster;

import org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy;

/** The preemption monitor as it is, telling when it looks. */
public class Rounds extends ProportionalCapacityPreemptionPolicy {
  @Override
  public synchronized void editSchedule() {
    boolean in = Watch.enter();
    try {
      Watch.say("round");
      super.editSchedule();
      Watch.say("over");
    } finally {
      Watch.leave(in);
    }
  }
}
