'use strict';
// Draws what stands in #data. Nothing is asked of anyone; all text goes in as text, never as markup.
const began = performance.now();
const { report, timeline } = JSON.parse(document.getElementById('data').textContent);
const WIDTH = 600, HEIGHT = 100;
const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
const put = (id, ...children) => document.getElementById(id).append(...children);

// Figures as one says them, as the text report does.
function size(bytes) {
  for (const [unit, factor] of [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]])
    if (bytes >= factor) return `${(bytes / factor).toFixed(1).replace(/\.0$/, '')} ${unit}`;
  return `${Math.round(bytes)} B`;
}
function time(seconds) {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds), two = (n) => String(n).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole % 3600 / 60))} m`;
}
const count = (n) => Number.isInteger(n) ? n.toLocaleString('en-US') : n.toFixed(1);
const percent = (share) => `${Math.round(share * 100)} %`;
const amount = (kind) => kind === 'bytes' ? size : kind === 'rate' ? (n) => `${count(n)}/s` : count;

// A path through the steps that are known; a gap longer than `bridge` steps parts it.
function points(values) {
  const found = [];
  values.forEach((value, step) => { if (value !== null) found.push([step, value]); });
  return found;
}
function path(found, top) {
  const x = (step) => (step + 0.5) * WIDTH / timeline.steps, y = (value) => HEIGHT - value / top * HEIGHT;
  return found.map(([step, value], at) => `${at ? 'L' : 'M'}${x(step).toFixed(1)},${y(value).toFixed(1)}`).join('');
}

// A chart of one or two series, and a limit as a broken line.
function chart(name, series, spoken, { bounds = null, second = null, names = [] } = {}) {
  const found = points(series), other = second ? points(second) : [], limits = bounds ? points(bounds) : [];
  const all = [...found, ...other, ...limits].map(([, value]) => value);
  const top = Math.max(1e-9, ...all) * 1.05;
  const svg = shape('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
  const title = shape('title', {});
  title.textContent = name;
  svg.append(title, shape('line', { class: 'base', x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }));
  if (found.length) {
    const line = path(found, top), x = (step) => ((step + 0.5) * WIDTH / timeline.steps).toFixed(1);
    svg.append(shape('path', { class: 'area', d: `${line}L${x(found.at(-1)[0])},${HEIGHT}L${x(found[0][0])},${HEIGHT}Z` }));
    svg.append(shape('path', { class: 'curve', d: line }));
  }
  if (other.length) svg.append(shape('path', { class: 'curve second', d: path(other, top) }));
  if (limits.length) svg.append(shape('path', { class: 'bound', d: path(limits, top) }));
  const cursor = shape('line', { class: 'cursor', y1: 0, y2: HEIGHT });
  svg.append(cursor);
  const peak = found.length ? Math.max(...found.map(([, value]) => value)) : 0;
  const limit = limits.length ? `, limit ${spoken(limits.at(-1)[1])}` : '';
  const legend = `at most ${spoken(peak)}${limit}${names.length ? ` (${names.join(', ')})` : ''}`;
  const caption = element('figcaption', {}, legend);
  const figure = element('figure', {}, element('h3', {}, name), svg, caption);
  svg.addEventListener('pointermove', (event) => {
    const box = svg.getBoundingClientRect();
    const step = Math.min(timeline.steps - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * timeline.steps)));
    const near = (list) => list.reduce((best, it) => !best || Math.abs(it[0] - step) < Math.abs(best[0] - step) ? it : best, null);
    const told = [near(found), near(other)].filter(Boolean).map(([, value]) => spoken(value));
    cursor.setAttribute('x1', (step + 0.5) * WIDTH / timeline.steps);
    cursor.setAttribute('x2', (step + 0.5) * WIDTH / timeline.steps);
    cursor.style.visibility = 'visible';
    caption.textContent = `after ${time(step * timeline.step)}: ${told.join(', ')}`;
  });
  svg.addEventListener('pointerleave', () => {
    cursor.style.visibility = 'hidden';
    caption.textContent = legend;
  });
  return figure;
}

function head() {
  const names = report.runs.map((run) => `${run.pipeline} ${run.run}`).join(', ');
  document.getElementById('title').textContent = names || 'run';
  const { items } = report;
  const others = [['failed', 'failed'], ['skipped', 'done before'], ['cancelled', 'cancelled']]
    .filter(([key]) => items[key] > 0).map(([key, words]) => `, ${count(items[key])} ${words}`).join('');
  const open = report.runs.some((run) => !run.ended) ? '; the record ends before the run did' : '';
  document.getElementById('totals').textContent =
    `${count(items.done)} of ${count(items.listed)} items done${others} in ${time(report.seconds)} ` +
    `(${report['items-per-second'].toFixed(1)}/s)${open}`;
}

function verdict() {
  put('verdict', element('h2', {}, 'Verdict'));
  for (const finding of report.verdict.findings) {
    const list = element('ul', {}, ...finding.because.map((because) => element('li', {}, because)));
    put('verdict', element('div', { class: 'finding' }, element('strong', {}, finding.says), list,
      element('p', {}, `What to do: ${finding.advice}`)));
  }
  if (!report.verdict.findings.length)
    put('verdict', element('div', { class: 'finding good' }, element('strong', {}, report.verdict.says)));
}

function stages() {
  for (const stage of report.stages) {
    const busy = timeline.busy[stage.name];
    if (!busy) continue;
    const most = Math.max(1, stage.parallelism);
    const svg = shape('svg', { viewBox: `0 0 ${timeline.steps} 1`, preserveAspectRatio: 'none' });
    busy.forEach((value, step) => {
      if (value > 0.001)
        svg.append(shape('rect', { x: step, y: 0, width: 1.05, height: 1, 'fill-opacity': Math.min(1, 0.08 + 0.92 * value / most).toFixed(2) }));
    });
    const named = element('span', { title: `${stage.name} (${stage.op})` }, stage.name);
    put('stages', element('div', { class: 'strip' }, named, svg,
      element('em', {}, `${count(stage['most-at-once'])} of ${count(stage.parallelism)}`)));
  }
  const axis = element('span', { class: 'axis' });
  axis.append(element('i', {}, '0'), element('i', {}, time(timeline.step * timeline.steps / 2)), element('i', {}, time(timeline.step * timeline.steps)));
  put('stages', element('div', { class: 'strip' }, element('span'), axis, element('em')));
  for (const mark of timeline.marks)
    put('stages', element('p', { class: 'hint' }, `after ${time(mark.at)}: ${mark.what}`));
}

// Counts of each step as counts a second, over enough steps to be smooth.
function persecond(values) {
  const span = Math.max(1, Math.round(1 / timeline.step)), half = Math.floor(span / 2);
  const sums = [0];
  values.forEach((value, step) => sums.push(sums[step] + value));
  return values.map((_, step) => {
    const from = Math.max(0, step - half), to = Math.min(values.length, step + half + 1);
    return (sums[to] - sums[from]) / ((to - from) * timeline.step);
  });
}

function charts() {
  const failed = timeline.failed.some((value) => value > 0);
  put('throughput', chart('items done a second', persecond(timeline.done), count,
    failed ? { second: persecond(timeline.failed), names: ['done', 'failed'] } : {}));
  if (timeline.requests.some((value) => value > 0)) {
    const throttled = timeline.throttled.some((value) => value > 0);
    put('throughput', chart('requests a second', persecond(timeline.requests), count,
      throttled ? { second: persecond(timeline.throttled), names: ['all', 'throttled'] } : {}));
    put('throughput', chart('received a second', persecond(timeline.received), size));
  }
  for (const resource of report.resources) {
    const used = timeline.used[resource.name];
    if (used) put('resources', chart(resource.name, used, amount(resource.kind), { bounds: timeline.limit[resource.name] }));
  }
  for (const [name, depth] of Object.entries(timeline.queues)) put('queues', chart(`into ${name}`, depth, count));
  const granted = (value) => value > 0 ? timeline.resident.map((it) => it === null ? null : value) : null;
  const { process } = report;
  put('process', chart('resident memory', timeline.resident, size, { bounds: granted(process['memory-granted']) }));
  if (timeline.programs.some((value) => value > 0)) put('process', chart('resident memory of programs', timeline.programs, size));
  put('process', chart('open files', timeline.descriptors, count));
  put('process', chart('cores computing', timeline.cpu, count,
    { second: timeline.starved, bounds: granted(process['cores-granted']), names: ['computing', 'waiting for a processor'] }));
  put('process', chart('items in flight', timeline.items, count));
  put('process', chart('threads', timeline.threads, count));
}

function spent() {
  const most = Math.max(...report.time.map((it) => it.share), 1e-9);
  for (const it of report.time.slice(0, 14)) {
    const bar = element('i', it.waiting ? { class: 'waiting' } : {});
    bar.style.width = `${(it.share / most * 45).toFixed(1)}%`;
    put('time', element('div', { class: 'bar' }, element('b', {}, percent(it.share)), element('b', {}, time(it.seconds)),
      element('span', {}, bar, it.what)));
  }
}

function table(headings, rows) {
  const line = (cells, name) => element('tr', {}, ...cells.map((cell) => element(name, {}, cell)));
  return element('div', { class: 'scroll' }, element('table', {}, line(headings, 'th'), ...rows.map((row) => line(row, 'td'))));
}

function figures() {
  put('figures', table(
    ['stage', 'op', 'done', 'failed', 'again', 'at once', 'done/s', 'starts/s', 'most', 'wait p50', 'p95', 'work p50', 'p95'],
    report.stages.map((it) => [it.name, it.op, count(it.finished), count(it.failed), count(it.retried),
      `${count(it['most-at-once'])} of ${count(it.parallelism)}`, it['per-second'].toFixed(1),
      it['starts-per-second'].mean.toFixed(1), count(it['starts-per-second'].most),
      time(it.wait.p50), time(it.wait.p95), time(it.work.p50), time(it.work.p95)])));
  put('figures', table(['resource', 'limit', 'used', 'peak', 'at its limit', 'waited for', 'derivation'],
    report.resources.map((it) => {
      const say = amount(it.kind);
      return [it.name, say(it.limit), say(it.used), say(it.peak), percent(it['at-limit']), percent(it['waited-for']), it.derivation];
    })));
}

function lists() {
  if (report.failures.length) {
    put('failures', element('h2', {}, 'Failures by cause'));
    for (const it of report.failures)
      put('failures', element('p', {}, `${count(it.count)} × in ${it.stage}: ${it.item}: ${it.message}`), element('code', {}, it.retry));
  }
  if (report.calibration.length) {
    put('calibration', element('h2', {}, 'Working sets, observed against declared'));
    for (const it of report.calibration)
      put('calibration', element('p', {}, `${it.subject}: ${size(it.observed)} of ${size(it.declared)} (${it.observation})`),
        element('p', { class: 'hint' }, it.edit || 'the figure fits'));
  }
}

for (const draw of [head, verdict, stages, charts, spent, figures, lists]) draw();
document.documentElement.dataset.charts = document.querySelectorAll('figure svg .curve').length;
document.documentElement.dataset.strips = document.querySelectorAll('.strip rect').length > 0;
document.documentElement.dataset.milliseconds = Math.round(performance.now() - began);
