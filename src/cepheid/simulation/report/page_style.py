"""How a page looks: one sheet, light or dark as the reader's machine is set.  Charts: looks.py."""

from __future__ import annotations

STYLE = """
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
.chart .name { font-size: 13px; font-weight: 600; }
.hatching { stroke: var(--c0); stroke-width: 1.4; fill: none; }
.chart .border { stroke-linecap: square; } .line { stroke-linejoin: round; }
.box { fill: var(--card); stroke: var(--rule); stroke-width: 1.2; } .foreign { stroke-dasharray: 5 4; }
.trough { fill: var(--trough); } .edge { fill: none; stroke: var(--c0); stroke-width: 1.5; } .tip { fill: var(--c0); }
@media print { h2 { break-after: avoid; } figure, .tile, table { break-inside: avoid; } }
"""

# one for all charts of the page: lines over cells that do not keep up
HATCH = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="6" height="6" class="trough"/><path d="M0,0 V6" class="hatching"/></pattern></defs></svg>'
)
