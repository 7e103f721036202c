"""How a report looks: one sheet, light or dark as the reader's machine is set.

The six colours are those of Okabe and Ito, which people tell apart who see colours differently.
"""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --card: #f7f8fa; --ink: #1c2430; --faint: #5b6675; --rule: #dde2e9; --trough: #e3e7ed;
  --c0: #7b8694; --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #b45f93; --c5: #b58400; --c6: #3d9bd1; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #10151d; --card: #171e29; --ink: #e6eaf0; --faint: #98a3b3; --rule: #2b3543; --trough: #2b3543;
  --c0: #8b96a5; --c1: #4aa3df; --c2: #f0803c; --c3: #2fbf95; --c4: #d88fbb; --c5: #e6b53c; --c6: #8fd0f5; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1240px; margin: 0 auto; padding: 28px 24px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 40px 0 10px; }
p { margin: 4px 0 10px; max-width: 100ch; }
.faint { color: var(--faint); }
.tiles { display: grid;
  grid-template-columns: repeat(auto-fit, minmax(min(230px, 44%), 1fr)); gap: 12px; margin: 22px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; font-variant-numeric: tabular-nums; white-space: nowrap; }
.tile span { display: block; color: var(--faint); font-size: 13px; line-height: 1.35; }
.tile.bad { border-color: var(--c2); } .tile.bad b { color: var(--c2); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(460px, 100%), 1fr)); gap: 26px 34px; }
figure { margin: 0 0 12px; overflow-x: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 14px 5px 0; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap; }
th { color: var(--faint); font-weight: 500; } th:first-child, td:first-child { text-align: left; }
td.word, th.word { text-align: left; } tr.bad td { color: var(--c2); }
details { margin-top: 10px; } summary { cursor: pointer; color: var(--faint); }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 14px; overflow-x: auto;
  font: 12.5px/1.5 ui-monospace, "DejaVu Sans Mono", monospace; }
.chart { width: 100%; height: auto; display: block; }
.chart text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
.chart .title { font-size: 13.5px; font-weight: 600; } .chart .name { font-size: 13px; font-weight: 600; }
.chart .tick, .chart .note { fill: var(--faint); }
.chart .cell { font-size: 11px; } .chart .strong { fill: var(--paper); }
.chart .halo { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.grid { stroke: var(--rule); stroke-width: 1; } .axis { stroke: var(--faint); stroke-width: 1; }
.shade { fill: var(--c2); fill-opacity: .10; }
.moment { stroke: var(--faint); stroke-width: 1.2; stroke-dasharray: 2 3; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.mark { stroke: var(--paper); stroke-width: 1; }
.chart .hollow { fill: var(--paper); stroke-width: 1.5; stroke-dasharray: none; }
.band { fill-opacity: .18; stroke: none; }
.s0 { stroke: var(--c0); stroke-dasharray: 6 5; stroke-width: 1.6; } .f0 { fill: var(--c0); }
.s1 { stroke: var(--c1); } .f1 { fill: var(--c1); }
.s2 { stroke: var(--c2); stroke-dasharray: 9 3; } .f2 { fill: var(--c2); }
.s3 { stroke: var(--c3); stroke-dasharray: 3 2; } .f3 { fill: var(--c3); }
.s4 { stroke: var(--c4); stroke-dasharray: 10 3 2 3; } .f4 { fill: var(--c4); }
.s5 { stroke: var(--c5); stroke-dasharray: 5 2; } .f5 { fill: var(--c5); }
.s6 { stroke: var(--c6); stroke-dasharray: 2 2; } .f6 { fill: var(--c6); }
.absent { fill: none; stroke: var(--rule); }
.crossed { fill: url(#hatch); stroke: none; } .pale { fill: var(--trough); }
.hatching { stroke: var(--c0); stroke-width: 1.4; fill: none; }
.border { stroke: var(--ink); stroke-width: 2.6; fill: none; stroke-linecap: square; }
.box { fill: var(--card); stroke: var(--rule); stroke-width: 1.2; } .foreign { stroke-dasharray: 5 4; }
.trough { fill: var(--trough); } .edge { fill: none; stroke: var(--c0); stroke-width: 1.5; } .tip { fill: var(--c0); }
@media print { h2 { break-after: avoid; } figure, .tile, table { break-inside: avoid; } }
"""

# one for all charts of the page: lines over cells that do not keep up
HATCH = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<path d="M0,0 V6" class="hatching"/></pattern></defs></svg>'
)
