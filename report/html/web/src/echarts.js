// The parts of ECharts that the reports use; the bundle holds no others.
import { use } from "echarts/core";
import { BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart } from "echarts/charts";
import { AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkLineComponent, ParallelComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

use([BarChart, CustomChart, HeatmapChart, LineChart, ParallelChart, ScatterChart, AriaComponent, DataZoomComponent, GridComponent,
  LegendComponent, MarkLineComponent, ParallelComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

export { init } from "echarts/core";
