package yardmaster;

import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.sls.AMDefinition;
import org.apache.hadoop.yarn.sls.AMDefinitionFactory;
import org.apache.hadoop.yarn.sls.AMRunner;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.scheduler.TaskRunner;

/** Reads the jobs of an SLS trace. The stock reader expects every value to be a string and fails on the list of tasks. */
final class Masters extends AMRunner {
  private final SLSRunner sls;
  private String[] traces = {};

  Masters(TaskRunner tasks, SLSRunner sls) {
    super(tasks, sls);
    this.sls = sls;
  }

  @Override
  public void setInputTraces(String[] t) {
    super.setInputTraces(t);
    traces = t.clone();
  }

  @Override
  public void startAM() throws YarnException, IOException {
    int jobs = 0;
    try {
      Method start = AMRunner.class.getDeclaredMethod("startAMs", AMDefinition.class);
      start.setAccessible(true);
      for (String name : traces) {
        try (MappingIterator<Map<String, Object>> it = new ObjectMapper().readerFor(Map.class).readValues(new File(name))) {
          while (it.hasNext()) {
            Map<String, Object> job = it.next();
            Object p = job.get("job.priority");
            if (p != null) {
              Master.PRIORITIES.put(String.valueOf(job.get("job.id")), Integer.valueOf(p.toString()));
            }
            start.invoke(this, AMDefinitionFactory.createFromSlsTrace(text(job), sls));
            jobs++;
          }
        }
      }
      set("numAMs", jobs);
      set("remainingApps", jobs);
    } catch (ReflectiveOperationException e) {
      throw new YarnException(e);
    }
  }

  private void set(String field, int v) throws ReflectiveOperationException {
    Field f = AMRunner.class.getDeclaredField(field);
    f.setAccessible(true);
    f.setInt(this, v);
  }

  /** The same tree with every leaf as a string, in the raw type that the factory expects. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Map text(Map<String, Object> m) {
    Map out = new LinkedHashMap();
    for (Map.Entry<String, Object> e : m.entrySet()) {
      Object v = e.getValue();
      if (v instanceof List) {
        List l = new ArrayList();
        for (Object o : (List) v) {
          l.add(text((Map<String, Object>) o));
        }
        out.put(e.getKey(), l);
      } else {
        out.put(e.getKey(), String.valueOf(v));
      }
    }
    return out;
  }
}
