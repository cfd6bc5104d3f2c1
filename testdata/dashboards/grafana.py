#!/usr/bin/env python3
"""Checks the files for Grafana in a directory, and writes the expressions of their dashboards for check.py.

    grafana.py DIR OUT

DIR has dashboards/*.json, provisioning/ and compose.yaml. Each dashboard is validated against grafana-dashboard.schema.json
beside this program, and by rules that a schema cannot have: ids and titles are unique, panels do not overlap, and every
variable in use is defined. The YAML files refer to files and sources that exist. Each dashboard becomes OUT/NAME.tsv.

Needs Debian's python3-jsonschema and python3-yaml. Ends with 1 and the reasons if something is wrong."""
import json, pathlib, re, sys
import jsonschema, yaml

# Variables that Grafana defines itself.
OWN = {'__rate_interval', '__interval', '__range', '__all'}
VARIABLE = re.compile(r'\$\{(\w+)(?::\w+)?\}|\$(\w+)')

def used(text):
    return {name for pair in VARIABLE.findall(text) for name in pair if name}

def dashboard(path, schema):
    """Yields the faults of a dashboard."""
    board = json.loads(path.read_text(encoding='utf-8'))
    for error in jsonschema.Draft7Validator(schema).iter_errors(board):
        yield f'{error.json_path}: {error.message[:200]}'
    panels, variables = board['panels'], {v['name'] for v in board['templating']['list']}
    for key in ('id', 'title'):
        seen = [panel[key] for panel in panels if key == 'id' or panel['type'] != 'row']
        yield from (f'{key} {one} occurs twice' for one in sorted({x for x in seen if seen.count(x) > 1}, key=str))
    taken = {}
    for panel in panels:
        grid = panel['gridPos']
        if grid['x'] + grid['w'] > 24: yield f'{panel["title"]}: wider than the page'
        for cell in ((x, y) for x in range(grid['x'], grid['x'] + grid['w']) for y in range(grid['y'], grid['y'] + grid['h'])):
            if cell in taken: yield f'{panel["title"]} overlaps {taken[cell]}'; break
            taken[cell] = panel['title']
    for name in used(path.read_text(encoding='utf-8')) - OWN - variables: yield f'${name} is not defined'
    for panel in (p for p in panels if p['type'] != 'row'):
        if not panel['description'] or not panel['fieldConfig']['defaults'].get('unit'): yield f'{panel["title"]}: no description or unit'
        if panel.get('repeat') and panel['repeat'] not in used(panel['title']): yield f'{panel["title"]}: repeated without its variable'

def expressions(path):
    """Returns the lines for check.py. A repeated panel gets the first value of its variable."""
    board = json.loads(path.read_text(encoding='utf-8'))
    repeats = {panel.get('repeat') for panel in board['panels']}
    lines = [f'# {board["title"]}: made for this project']
    for v in board['templating']['list']:
        if v['type'] == 'datasource': continue
        value = v['current']['value'] if v['type'] == 'custom' else v['query']
        every = '' if v['name'] in repeats or not v['includeAll'] else 'yes'
        lines.append('\t'.join(['#variable', v['name'], value, v.get('regex', ''), every]))
    lines.append('panel\texpression\tmetrics')
    for panel in board['panels']:
        for target in panel.get('targets', []):
            text = ' '.join(target['expr'].split())
            lines.append('\t'.join([panel['title'], text, ' '.join(sorted(set(re.findall(r'\bperf_\w+', text))))]))
    return '\n'.join(lines) + '\n'

def settings(folder):
    """Yields the faults of the YAML files: what they name must exist."""
    documents = {path.relative_to(folder).as_posix(): yaml.safe_load(path.read_text(encoding='utf-8'))
                 for path in sorted(folder.rglob('*.y*ml'))}
    services = documents['compose.yaml']['services']
    for name, service in services.items():
        if not re.fullmatch(r'[a-z/-]+:v?\d+\.[\d.]+(-slim)?', service['image']): yield f'{name}: no pinned image'
        if service['network_mode'] != 'host': yield f'{name}: not on the network of the host'
        for source, target, *_ in (volume.rsplit(':', 2) if volume.endswith(':ro') else volume.split(':') for volume in service['volumes']):
            if source.startswith('./') and not (folder / source).exists(): yield f'{name}: {source} does not exist'
            if not source.startswith(('.', '/', '$')) and source not in documents['compose.yaml']['volumes']: yield f'{name}: {source} is no volume'
    targets = [volume.split(':')[1] for volume in services['grafana']['volumes']]
    provider, = documents['provisioning/dashboards/perfset.yaml']['providers']
    if provider['options']['path'] not in targets: yield 'the directory of the dashboards is not mounted'
    source, = documents['provisioning/datasources/prometheus.yaml']['datasources']
    listen = [word.split('=')[1] for word in services['prometheus']['command'] if 'listen-address' in word]
    if [source['url']] != [f'http://{address}' for address in listen]: yield 'Prometheus listens elsewhere'
    if source['jsonData']['timeInterval'] != documents['prometheus.yml']['global']['scrape_interval']: yield 'another scrape interval'

def main():
    folder, out = map(pathlib.Path, sys.argv[1:3])
    schema = json.loads(pathlib.Path(__file__).with_name('grafana-dashboard.schema.json').read_text(encoding='utf-8'))
    jsonschema.Draft7Validator.check_schema(schema)
    faults, count = [f'settings: {fault}' for fault in settings(folder)], 0
    for path in sorted((folder / 'dashboards').glob('*.json')):
        faults += [f'{path.name}: {fault}' for fault in dashboard(path, schema)]
        (out / f'{path.stem}.tsv').write_text(expressions(path), encoding='utf-8')
        count += 1
    print('\n'.join(faults) or f'{count} dashboards are well-formed')
    return 1 if faults or count == 0 else 0

if __name__ == '__main__': sys.exit(main())
